// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

@_exported import Foundation

public typealias CLLocationDegrees = Double
public typealias CLLocationAccuracy = Double
public typealias CLLocationDistance = Double

public struct CLLocationCoordinate2D: Sendable {
  public var latitude: CLLocationDegrees
  public var longitude: CLLocationDegrees

  public init() { fatalError() }
  public init(latitude: CLLocationDegrees, longitude: CLLocationDegrees) { fatalError() }
}

public var kCLLocationCoordinate2DInvalid: CLLocationCoordinate2D { fatalError() }

public func CLLocationCoordinate2DIsValid(_ coordinate: CLLocationCoordinate2D) -> Bool { fatalError() }

// Apple declares it as Sendable; its instances are immutable.
open class CLLocation: NSObject, @unchecked Sendable {
  open var coordinate: CLLocationCoordinate2D { fatalError() }
  open var horizontalAccuracy: CLLocationAccuracy { fatalError() }
}

public enum CLAuthorizationStatus: Int32, Sendable {
  case notDetermined, restricted, denied, authorizedAlways, authorizedWhenInUse
}

open class CLLocationManager: NSObject {
  open class func locationServicesEnabled() -> Bool { fatalError() }

  open weak var delegate: (any CLLocationManagerDelegate)?
  open var desiredAccuracy: CLLocationAccuracy = 0
  open var authorizationStatus: CLAuthorizationStatus { fatalError() }

  open func requestLocation() {}
  open func requestWhenInUseAuthorization() {}
}

@available(iOS 17, macOS 14, *)
public protocol CLCondition: Sendable {}

@available(iOS 17, macOS 14, *)
public actor CLMonitor {
  public struct CircularGeographicCondition: CLCondition {
    public init(center: CLLocationCoordinate2D, radius: CLLocationDistance) {}
  }

  public struct Event: Sendable {
    public enum State: Sendable { case unknown, satisfied, unsatisfied, unmonitored }

    public var identifier: String { fatalError() }
    public var state: State { fatalError() }
  }

  public struct Events: AsyncSequence, Sendable {
    public struct AsyncIterator: AsyncIteratorProtocol {
      public mutating func next() async throws -> Event? { nil }
    }

    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator() }
  }

  public init(_ name: String) async {}
  public var identifiers: [String] { [] }
  public var events: Events { Events() }
  public func add(_ condition: any CLCondition, identifier: String, assuming state: Event.State = .unknown) {}
  public func remove(_ identifier: String) {}
}

public protocol CLLocationManagerDelegate: NSObjectProtocol {
  func locationManager(_ manager: CLLocationManager, didUpdateLocations locations: [CLLocation])
  func locationManager(_ manager: CLLocationManager, didFailWithError error: any Error)
  func locationManagerDidChangeAuthorization(_ manager: CLLocationManager)
}

// The requirements are optional in Objective-C.
extension CLLocationManagerDelegate {
  public func locationManager(_ manager: CLLocationManager, didUpdateLocations locations: [CLLocation]) {}
  public func locationManager(_ manager: CLLocationManager, didFailWithError error: any Error) {}
  public func locationManagerDidChangeAuthorization(_ manager: CLLocationManager) {}
}
