public import ServiceContextModule

extension ServiceContext {
  /// Where the request that is being answered stands in its trace; `nil` where its client told of none.
  public var traceParent: TraceParent? {
    get { self[TraceParentKey.self] }
    set { self[TraceParentKey.self] = newValue }
  }

  /// What the systems that the trace has passed through keep with it, as it came: W3C Trace Context's `tracestate`.
  public var traceState: String? {
    get { self[TraceStateKey.self] }
    set { self[TraceStateKey.self] = newValue }
  }
}

private enum TraceParentKey: ServiceContextKey {
  typealias Value = TraceParent
  static let nameOverride: String? = "traceparent"
}

private enum TraceStateKey: ServiceContextKey {
  typealias Value = String
  static let nameOverride: String? = "tracestate"
}
