#if os(Linux)
  import Foundation
  import FoundationNetworking
  import Testing

  @testable import WaymarkClient

  /// Tests of the memory for bodies that are small on the wire and large when they are decompressed. Apple's Foundation
  /// waits for the delegate of a session while it decompresses.
  @Suite(.timeLimit(.minutes(5))) struct CompressedResponseTests {
    /// Returns a body of `count` zero bytes in the format gzip (RFC 1952), without the checksum at its end.
    private func compressedZeros(count: Int) -> [UInt8] {
      var bytes: [UInt8] = [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3]
      var (buffer, length) = (0, 0)
      // Bits are packed from the lowest on, and Huffman codes from their highest bit on.
      func append(_ bits: String) {
        for bit in bits {
          buffer |= (bit == "1" ? 1 : 0) << length
          length += 1
          if length == 8 {
            bytes.append(UInt8(buffer))
            (buffer, length) = (0, 0)
          }
        }
      }
      // The last block, with fixed codes: the literal 0, and then copies of 258 bytes at the distance 1.
      append("1" + "10" + "00110000")
      for _ in 0..<(count / 258) { append("11000101" + "00000") }
      append("0000000" + "0000000")
      return bytes
    }

    /// Returns a number of bytes in the process' status.
    private func bytes(_ name: String) throws -> Int {
      let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
      let line = try #require(status.split(separator: "\n").first { $0.hasPrefix(name + ":") })
      return try #require(Int(line.filter(\.isNumber))) << 10
    }

    @Test func memoryIsBoundedWhileTheBodyIsDecompressed() async throws {
      let body = compressedZeros(count: 500_000_000)
      let server = try SocketServer { connection, _ in
        _ = connection.readHead()
        connection.write("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: \(body.count)\r\n\r\n")
        connection.write(body)
        connection.waitForClose()
      }
      let waymark = Waymark(
        baseURL: server.baseURL, session: URLSession(configuration: .ephemeral),
        configuration: LoaderConfiguration(retries: .none))
      let before = try bytes("VmRSS")

      await #expect(throws: WaymarkError.tooLarge(maximumBytes: 32 << 20)) { try await waymark.categories() }

      // Half of it, because other tests run at the same time.
      #expect(try bytes("VmHWM") - before < 250_000_000)
    }

    @Test func compressedBodyIsDecompressed() async throws {
      let server = try SocketServer { connection, _ in
        _ = connection.readHead()
        // `[]`, with the checksum.
        let body: [UInt8] = [
          0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3, 0x8B, 0x8E, 0x05, 0, 0x29, 0xBB, 0x4C, 0x0D, 2, 0, 0, 0,
        ]
        connection.write("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: \(body.count)\r\n\r\n")
        connection.write(body)
      }

      let categories = try await Waymark(baseURL: server.baseURL, session: URLSession(configuration: .ephemeral))
        .categories()

      #expect(categories.isEmpty)
    }
  }
#endif
