import HTTPServer

/// Several observers, told one after the other.
struct RequestObservers: RequestObserver {
  let observers: [any RequestObserver]

  func requestEnded(_ request: EndedRequest) {
    for observer in observers { observer.requestEnded(request) }
  }
}
