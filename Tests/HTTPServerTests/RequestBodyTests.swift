import NIOCore
import TestSupport
import Testing

@testable import HTTPServer

@Suite(.timeLimit(.minutes(5))) struct RequestBodyTests {
  private static func body(_ stream: RequestBodyStream, announcedLength: Int? = nil, limit: Int? = nil)
    -> HTTPRequestBody
  {
    .stream(stream, announcedLength: announcedLength, limit: limit)
  }

  @Test func emptyBodyEndsAtOnce() async throws {
    let whole = try await HTTPRequestBody.empty.collect()

    #expect(whole.readableBytes == 0)
  }

  @Test func piecesAreReadInTheirOrderAndThenTheEnd() async throws {
    let stream = RequestBodyStream {}
    for text in ["a", "", "b", "c"] { _ = stream.append(ByteBuffer(string: text)) }
    stream.finish()
    var pieces: [String] = []
    for try await piece in Self.body(stream) { pieces.append(String(buffer: piece)) }

    #expect(pieces == ["a", "b", "c"])
  }

  @Test func readerWaitsForWhatIsNotThereYet() async throws {
    let asked = Gate()
    let stream = RequestBodyStream { asked.open() }
    async let whole = Self.body(stream).collect()
    await asked.pass()
    _ = stream.append(ByteBuffer(string: "late"))
    stream.finish()
    let text = String(buffer: try await whole)

    #expect(text == "late")
  }

  @Test func fullBufferStopsTheConnectionUntilItIsRead() async throws {
    let demands = Counter()
    let stream = RequestBodyStream { demands.add() }
    let goesOn = stream.append(ByteBuffer(repeating: 0, count: RequestBodyStream.highWaterMark - 1))
    let stops = !stream.append(ByteBuffer(string: "x"))
    var pieces = Self.body(stream).makeAsyncIterator()
    _ = try await pieces.next()
    let afterOne = demands.value
    _ = try await pieces.next()
    let afterAll = demands.value

    #expect(goesOn)
    #expect(stops)
    #expect([afterOne, afterAll] == [0, 1])
  }

  @Test func bodyPastItsLimitIsAnErrorAsSoonAsItIs() async throws {
    let stream = RequestBodyStream {}
    _ = stream.append(ByteBuffer(string: "abc"))
    _ = stream.append(ByteBuffer(string: "d"))
    var pieces = Self.body(stream, limit: 3).makeAsyncIterator()
    let first = try await pieces.next()

    #expect(first.map { String(buffer: $0) } == "abc")
    await #expect(throws: HTTPBodyError.tooLarge(limit: 3)) { try await pieces.next() }
  }

  @Test func announcedLengthPastTheLimitIsAnErrorBeforeAnythingIsRead() async {
    let demands = Counter()
    let body = Self.body(RequestBodyStream { demands.add() }, announcedLength: 4, limit: 3)

    await #expect(throws: HTTPBodyError.tooLarge(limit: 3)) { try await body.collect() }
    #expect(demands.value == 0)
  }

  @Test func collectingMayHaveItsOwnLimit() async throws {
    let body = HTTPRequestBody.bytes(ByteBuffer(string: "four"), limit: 3)
    let whole = try await body.collect(upTo: 4)

    #expect(String(buffer: whole) == "four")
    await #expect(throws: HTTPBodyError.tooLarge(limit: 2)) { try await body.collect(upTo: 2) }
  }

  @Test func failureReachesTheReaderBeforeWhatWasLeft() async {
    let stream = RequestBodyStream {}
    _ = stream.append(ByteBuffer(string: "half"))
    stream.finish(.failure(.timedOut))

    await #expect(throws: HTTPBodyError.timedOut) { try await Self.body(stream).collect() }
  }

  @Test func cancelledReaderIsFreed() async {
    let asked = Gate()
    let stream = RequestBodyStream { asked.open() }
    let reader = Task { () -> HTTPBodyError? in
      do throws(HTTPBodyError) {
        _ = try await Self.body(stream).collect()
        return nil
      } catch {
        return error
      }
    }
    await asked.pass()
    reader.cancel()
    let error = await reader.value

    #expect(error == .cancelled)
  }
}
