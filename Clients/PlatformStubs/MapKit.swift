// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

@_exported import CoreLocation
public import SwiftUI

public struct MKCoordinateSpan: Sendable {
  public var latitudeDelta: CLLocationDegrees
  public var longitudeDelta: CLLocationDegrees

  public init(latitudeDelta: CLLocationDegrees, longitudeDelta: CLLocationDegrees) { fatalError() }
}

public struct MKCoordinateRegion: Sendable {
  public var center: CLLocationCoordinate2D
  public var span: MKCoordinateSpan

  public init(center: CLLocationCoordinate2D, span: MKCoordinateSpan) { fatalError() }
}

// MapKit for SwiftUI.

@available(iOS 17, macOS 14, tvOS 17, watchOS 10, visionOS 1, *)
public struct MapCameraPosition: Equatable, Sendable {
  public static var automatic: MapCameraPosition { fatalError() }
  public static func region(_ region: MKCoordinateRegion) -> MapCameraPosition { fatalError() }
}

@available(iOS 17, macOS 14, tvOS 17, watchOS 10, visionOS 1, *)
public struct MapCameraUpdateContext: Sendable {
  public var region: MKCoordinateRegion { fatalError() }
}

@available(iOS 17, macOS 14, tvOS 17, watchOS 10, visionOS 1, *)
public struct MapCameraUpdateFrequency: Sendable {
  public static var onEnd: MapCameraUpdateFrequency { fatalError() }
}

@available(iOS 17, macOS 14, tvOS 17, watchOS 10, visionOS 1, *)
@MainActor
public protocol MapContent {}

@available(iOS 17, macOS 14, tvOS 17, watchOS 10, visionOS 1, *)
@resultBuilder
public struct MapContentBuilder {
  public static func buildExpression<Content: MapContent>(_ content: Content) -> Content { content }
  public static func buildBlock<Content: MapContent>(_ content: Content) -> Content { content }
  public static func buildIf<Content: MapContent>(_ content: Content?) -> Content? { content }
}

@available(iOS 17, macOS 14, tvOS 17, watchOS 10, visionOS 1, *)
extension Optional: MapContent where Wrapped: MapContent {}

@available(iOS 17, macOS 14, tvOS 17, watchOS 10, visionOS 1, *)
public struct Marker: MapContent {
  public init(_ title: some StringProtocol, coordinate: CLLocationCoordinate2D) {}
}

@available(iOS 17, macOS 14, tvOS 17, watchOS 10, visionOS 1, *)
extension ForEach: MapContent where Content: MapContent {
  public init(_ data: Data, @MapContentBuilder content: @escaping (Data.Element) -> Content)
  where Data.Element: Identifiable, ID == Data.Element.ID {
    fatalError()
  }
}

@available(iOS 17, macOS 14, tvOS 17, watchOS 10, visionOS 1, *)
@MainActor
public struct Map<Content: MapContent>: View {
  public init(initialPosition: MapCameraPosition, @MapContentBuilder content: () -> Content) { fatalError() }

  public var body: Never { fatalError() }
}

extension View {
  @available(iOS 17, macOS 14, tvOS 17, watchOS 10, visionOS 1, *)
  public func onMapCameraChange(
    frequency: MapCameraUpdateFrequency = .onEnd, _ action: @escaping (MapCameraUpdateContext) -> Void
  ) -> some View { self }
}
