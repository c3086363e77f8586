package import AccessControl
package import ArgumentParser
package import Basics
package import CoreMetrics
package import HTTPServer
package import LocationsAPI
package import Logging
package import ManagementAPI
package import Points
package import PrometheusMetrics

/// The values of a feature's settings, and what the feature adds to the server.
///
/// The settings, the metrics and the commands of the program are collected from the list of its features, which is the
/// one place outside a feature's folder that names it.
package protocol ServerFeature: Sendable {
  /// The settings.
  static var settings: [Setting] { get }

  /// The title of the group of settings at whose end the documentation shows them.
  static var settingsTitle: String { get }

  /// A Boolean value that indicates whether the settings have an effect only if places are kept.
  static var needsKeptPlaces: Bool { get }

  /// The scopes that keys and tokens may have beside those of every service.
  static var scopes: [AccessScope] { get }

  /// The metrics that its collectors update.
  static var metrics: [MetricDescription] { get }

  /// The setting by which the feature accepts tokens; `nil` where it accepts none.
  static var tokenSetting: Setting? { get }

  /// A command that calls a running server.
  static var command: (any ParsableCommand.Type)? { get }

  init(_ settings: Settings) throws(ConfigurationError)

  /// The checks of `waymark check`. Each returns its subject, and throws where the server could not use it.
  var checks: [@Sendable () async throws -> String] { get }

  /// Returns the verification of the tokens that the feature accepts, before places are loaded; `nil` where it accepts
  /// none.
  ///
  /// - Parameters:
  ///   - scopes: the scopes that tokens may have.
  ///   - queryables: the types of the tags in filters, which tokens may have.
  /// - Throws: ``ConfigurationError`` for a file that can't be used.
  func tokens(scopes: [AccessScope], _ queryables: Queryables) async throws(ConfigurationError) -> (
    any TokenVerification
  )?

  /// Returns the parts that the feature adds to the server.
  ///
  /// - Throws: ``ConfigurationError`` for a file that can't be used.
  func parts(of core: Core) throws(ConfigurationError) -> FeatureParts
}

extension ServerFeature {
  package static var settings: [Setting] { [] }
  package static var settingsTitle: String { "Places" }
  package static var needsKeptPlaces: Bool { false }
  package static var scopes: [AccessScope] { [] }
  package static var metrics: [MetricDescription] { [] }
  package static var tokenSetting: Setting? { nil }
  package static var command: (any ParsableCommand.Type)? { nil }
  package var checks: [@Sendable () async throws -> String] { [] }

  package func tokens(scopes: [AccessScope], _ queryables: Queryables) async throws(ConfigurationError) -> (
    any TokenVerification
  )? { nil }
}

extension AccessScope {
  /// Returns the scopes of a server with features, in ascending order.
  package static func ofServer(with features: [any ServerFeature.Type]) -> [AccessScope] {
    (common + features.flatMap { $0.scopes }).sorted()
  }
}

/// The parts that a feature adds to the server: its calls, metrics and background work.
package struct FeatureParts {
  /// Returns the calls to places: to all, or to those that a key with a filter sees.
  package var endpoints: @Sendable (LocationsAPI) -> [Endpoint]
  package var collectors: [any MetricsCollector]
  package var services: [BackgroundService]

  /// The parts that are made from files, and made again at SIGHUP.
  package var reloadable: [ReloadablePart]

  /// Work that ends before the server listens.
  package var preparation: (@Sendable () async -> Void)?

  /// The sources of messages, for the features that come later in the list.
  package var messageSources: [MessageSource]

  /// The style of pages in HTML; `nil` for no change.
  package var pageStyle: PageStyle?

  /// Records sums of metrics of the process, such as its requests by status, and the time between two records.
  package var totals: (interval: Duration, record: @Sendable ([ExactText: Double]) -> Void)?

  package init(
    endpoints: @escaping @Sendable (LocationsAPI) -> [Endpoint] = { _ in [] },
    collectors: [any MetricsCollector] = [], services: [BackgroundService] = [],
    reloadable: [ReloadablePart] = [], preparation: (@Sendable () async -> Void)? = nil,
    messageSources: [MessageSource] = [], pageStyle: PageStyle? = nil,
    totals: (interval: Duration, record: @Sendable ([ExactText: Double]) -> Void)? = nil
  ) {
    self.endpoints = endpoints
    self.collectors = collectors
    self.services = services
    self.reloadable = reloadable
    self.preparation = preparation
    self.messageSources = messageSources
    self.pageStyle = pageStyle
    self.totals = totals
  }
}

/// A part of the server that is made from files, and made again at SIGHUP.
package struct ReloadablePart: Sendable {
  /// The name in the log, such as `the file of API keys`.
  package let name: String

  /// Reads the files again and returns the fields of the log line. Where it throws, nothing has changed.
  package let reload: @Sendable () async throws -> Logger.Metadata

  package init(name: String, reload: @escaping @Sendable () async throws -> Logger.Metadata) {
    (self.name, self.reload) = (name, reload)
  }
}

/// The parts of the server that features use.
package struct Core: Sendable {
  /// The records of features.
  package let records: any RecordStore

  /// A Boolean value that indicates whether the records outlast the process.
  package let keepsRecords: Bool

  /// The changes of the places.
  package let changes: any PointFeed

  /// The named areas.
  package let areas: any AreaStore

  /// The keys and tokens that are accepted.
  package let access: AccessControl

  /// The types of tags in filters, and the time that a filter may take.
  package let filtering: Filtering

  /// The address under which clients reach the service.
  package let address: PublicAddress

  /// The pages of other origins that may call the service.
  package let cors: CORSPolicy

  /// The memory of imports.
  package let importMemory: ImportMemory

  /// The maximum number of bytes of responses that are buffered for slow clients.
  package let bufferedBytes: Int

  /// The sources of messages of the features that come earlier in the list.
  package var messageSources: [MessageSource] = []

  /// The history of searches; `nil` where searches are not kept.
  package let searches: (any SearchHistory)?

  /// Copies the file in which the places are kept; `nil` where there is none.
  package let backup: BackupAction?

  /// The backend of metrics.
  package let metrics: any MetricsFactory
  package let logger: Logger

  package init(
    records: any RecordStore, keepsRecords: Bool, changes: any PointFeed, areas: any AreaStore,
    access: AccessControl, filtering: Filtering, address: PublicAddress, cors: CORSPolicy,
    importMemory: ImportMemory, bufferedBytes: Int, searches: (any SearchHistory)?, backup: BackupAction?,
    metrics: any MetricsFactory, logger: Logger
  ) {
    self.records = records
    self.keepsRecords = keepsRecords
    self.changes = changes
    self.areas = areas
    self.access = access
    self.filtering = filtering
    self.address = address
    self.cors = cors
    self.importMemory = importMemory
    self.bufferedBytes = bufferedBytes
    self.searches = searches
    self.backup = backup
    self.metrics = metrics
    self.logger = logger
  }
}

/// The version of this program.
package let waymarkVersion = "0.1.0"
