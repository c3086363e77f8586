package import LocationsAPI

/// The calls of those who maintain the places and operate the service: they change places, import and export many of
/// them, and tell of the server's state.
package struct ManagementAPI: Sendable {
  package let endpoints: [Endpoint]

  /// Creates the calls to the places of an interface.
  ///
  /// - Parameters:
  ///   - importMemory: the memory of imports.
  ///   - metrics: the source of `GET /metrics`; without it there is no such call.
  ///   - isDraining: returns a Boolean value that indicates whether the server is shutting down, and is no longer ready.
  package init(
    _ api: LocationsAPI, importMemory: ImportMemory = ImportMemory(), metrics: (any MetricsSource)? = nil,
    isDraining: @escaping @Sendable () -> Bool = { false }
  ) {
    let configuration = api.configuration
    let (service, address, areas) = (configuration.service, configuration.address, configuration.areas)
    let requiresIfMatch = configuration.requiresIfMatch
    var handlers: [any CallHandler] = [
      CreateRoute(service: service, address: address),
      ReplaceRoute(service: service, address: address, requiresIfMatch: requiresIfMatch),
      ChangeRoute(service: service, requiresIfMatch: requiresIfMatch),
      DeleteRoute(service: service, requiresIfMatch: requiresIfMatch),
      BatchRoute(service: service, requiresIfMatch: requiresIfMatch),
      DeleteSourceRoute(service: service),
      RemoveSourceRoute(service: service),
      ImportRoute(service: service, memory: importMemory),
      ExportRoute(
        service: service, changes: configuration.changes, filtering: configuration.filtering, areas: areas,
        restriction: configuration.restriction),
      LiveRoute(),
      ReadyRoute(service: service, areas: areas, uptime: configuration.uptime, isDraining: isDraining),
    ]
    if let metrics { handlers.append(MetricsRoute(source: metrics, uptime: configuration.uptime)) }
    endpoints = handlers.map(\.endpoint)
  }
}
