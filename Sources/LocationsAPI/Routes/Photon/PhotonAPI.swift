/// Photon's API to the places of an interface.
package struct PhotonAPI: Sendable {
  package let endpoints: [Endpoint]

  package init(_ locations: LocationsAPI) {
    let (service, revalidation) = (locations.configuration.service, locations.revalidation)
    let handlers: [any CallHandler] = [
      PhotonSearchRoute(
        service: service, revalidation: revalidation, timeLimit: locations.configuration.filtering.timeLimit),
      PhotonReverseRoute(service: service, revalidation: revalidation),
    ]
    endpoints = handlers.map(\.endpoint)
  }
}
