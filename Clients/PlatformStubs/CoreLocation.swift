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
