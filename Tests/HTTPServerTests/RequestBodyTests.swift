import FairShares
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

  @Test func chunksAreReadInOrderUntilTheEnd() async throws {
    let stream = RequestBodyStream {}
    for text in ["a", "", "b", "c"] { _ = stream.append(ByteBuffer(string: text)) }
    stream.finish()
    var chunks: [String] = []
    for try await chunk in Self.body(stream) { chunks.append(String(buffer: chunk)) }

    #expect(chunks == ["a", "b", "c"])
  }

  @Test func readerWaitsForTheNextChunk() async throws {
    let asked = Gate()
    let stream = RequestBodyStream { asked.open() }
    async let whole = Self.body(stream).collect()
    await asked.pass()
    _ = stream.append(ByteBuffer(string: "late"))
    stream.finish()
    let text = String(buffer: try await whole)

    #expect(text == "late")
  }

  @Test func fullBufferPausesTheConnectionUntilItIsRead() async throws {
    let demands = Counter()
    let stream = RequestBodyStream { demands.add() }
    let goesOn = stream.append(ByteBuffer(repeating: 0, count: RequestBodyStream.highWaterMark - 1))
    let stops = !stream.append(ByteBuffer(string: "x"))
    var chunks = Self.body(stream).makeAsyncIterator()
    _ = try await chunks.next()
    let afterOne = demands.value
    _ = try await chunks.next()
    let afterAll = demands.value

    #expect(goesOn)
    #expect(stops)
    #expect([afterOne, afterAll] == [0, 1])
  }

  @Test func bodyFailsAsSoonAsItExceedsItsLimit() async throws {
    let stream = RequestBodyStream {}
    _ = stream.append(ByteBuffer(string: "abc"))
    _ = stream.append(ByteBuffer(string: "d"))
    var chunks = Self.body(stream, limit: 3).makeAsyncIterator()
    let first = try await chunks.next()

    #expect(first.map { String(buffer: $0) } == "abc")
    await #expect(throws: HTTPBodyError.tooLarge(limit: 3)) { try await chunks.next() }
  }

  @Test func announcedLengthOverTheLimitFailsBeforeAnyRead() async {
    let demands = Counter()
    let body = Self.body(RequestBodyStream { demands.add() }, announcedLength: 4, limit: 3)

    await #expect(throws: HTTPBodyError.tooLarge(limit: 3)) { try await body.collect() }
    #expect(demands.value == 0)
  }

  @Test func collectUsesTheGivenLimit() async throws {
    let body = HTTPRequestBody.bytes(ByteBuffer(string: "four"), limit: 3)
    let whole = try await body.collect(upTo: 4)

    #expect(String(buffer: whole) == "four")
    await #expect(throws: HTTPBodyError.tooLarge(limit: 2)) { try await body.collect(upTo: 2) }
  }

  @Test func failureReachesTheReaderBeforeUnreadChunks() async {
    let stream = RequestBodyStream {}
    _ = stream.append(ByteBuffer(string: "half"))
    stream.finish(.failure(.timedOut))

    await #expect(throws: HTTPBodyError.timedOut) { try await Self.body(stream).collect() }
  }

  @Test func shortBodyIsTakenAtOnceWhenItHasArrived() throws {
    let stream = RequestBodyStream {}
    for text in ["a", "bc"] { _ = stream.append(ByteBuffer(string: text)) }
    let early = stream.takeShort()
    stream.finish()
    let whole = stream.takeShort()
    let rest = stream.takeShort()

    #expect(early == nil)
    #expect(whole.map { String(buffer: $0) } == "abc")
    #expect(rest?.readableBytes == 0)
  }

  @Test func longOrFailedBodyIsNotTakenAtOnce() {
    let long = RequestBodyStream {}
    _ = long.append(ByteBuffer(repeating: 0, count: BodyBudget<RequestSender>.leastBytes + 1))
    long.finish()
    let failed = RequestBodyStream {}
    failed.finish(.failure(.disconnected))

    #expect(long.takeShort() == nil)
    #expect(failed.takeShort() == nil)
  }

  @Test(arguments: [(4, 3), (nil, 3), (4, 4)] as [(Int?, Int)])
  func shortBodyIsHeldToItsLimit(announced: Int?, limit: Int) async {
    let stream = RequestBodyStream {}
    for text in ["ab", "cd"] { _ = stream.append(ByteBuffer(string: text)) }
    stream.finish()
    let request = HTTPRequest(target: "/", body: .stream(stream, announcedLength: announced, limit: limit))
    let whole = try? await request.collectBody()

    #expect(whole.map { String(buffer: $0) } == (limit == 4 ? "abcd" : nil))
  }

  @Test func cancelledReaderIsResumed() async {
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
