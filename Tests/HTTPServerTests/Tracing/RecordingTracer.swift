import Synchronization
import Tracing

/// A tracer that keeps its spans.
final class RecordingTracer: Tracer {
  private let state = Mutex<(spans: [RecordedSpan], extracted: [String])>(([], []))

  var spans: [RecordedSpan] { state.withLock { $0.spans } }

  /// The values of `traceparent` that it read.
  var extracted: [String] { state.withLock { $0.extracted } }

  func startSpan<Instant: TracerInstant>(
    _ operationName: String, context: @autoclosure () -> ServiceContext, ofKind kind: SpanKind,
    at instant: @autoclosure () -> Instant, function: String, file fileID: String, line: UInt
  ) -> RecordedSpan {
    let span = RecordedSpan(operationName, context: context(), kind: kind)
    state.withLock { $0.spans.append(span) }
    return span
  }

  func forceFlush() {}

  func extract<Carrier, Extract: Extractor>(
    _ carrier: Carrier, into context: inout ServiceContext, using extractor: Extract
  ) where Extract.Carrier == Carrier {
    guard let value = extractor.extract(key: "traceparent", from: carrier) else { return }
    state.withLock { $0.extracted.append(value) }
  }

  func inject<Carrier, Inject: Injector>(
    _ context: ServiceContext, into carrier: inout Carrier, using injector: Inject
  ) where Inject.Carrier == Carrier {}
}

/// A span that reports its attributes and its end to the tracer.
final class RecordedSpan: Span {
  private struct State {
    var operationName: String
    var attributes: SpanAttributes = [:]
    var hasFailed = false
    var hasEnded = false
  }

  let context: ServiceContext
  let kind: SpanKind
  private let state: Mutex<State>

  init(_ operationName: String, context: ServiceContext, kind: SpanKind) {
    self.context = context
    self.kind = kind
    state = Mutex(State(operationName: operationName))
  }

  var isRecording: Bool { !hasEnded }
  var hasEnded: Bool { state.withLock { $0.hasEnded } }
  var hasFailed: Bool { state.withLock { $0.hasFailed } }

  var operationName: String {
    get { state.withLock { $0.operationName } }
    set { state.withLock { $0.operationName = newValue } }
  }

  var attributes: SpanAttributes {
    get { state.withLock { $0.attributes } }
    set { state.withLock { $0.attributes = newValue } }
  }

  func setStatus(_ status: SpanStatus) { state.withLock { $0.hasFailed = status.code == .error } }

  func addEvent(_ event: SpanEvent) {}

  func recordError<Instant: TracerInstant>(
    _ error: any Error, attributes: SpanAttributes, at instant: @autoclosure () -> Instant
  ) {}

  func addLink(_ link: SpanLink) {}

  func end<Instant: TracerInstant>(at instant: @autoclosure () -> Instant) { state.withLock { $0.hasEnded = true } }
}
