import FairShares
import NIOCore
import NIOHTTP1

/// The sender of a request, to whom the resources that it uses are attributed.
public enum RequestSender: Hashable, Sendable {
  /// A sender that is authenticated by a key or a token.
  case principal(Principal)

  /// The address of a sender that is not authenticated.
  case address(IPAddress?)
}

extension HTTPRequest {
  /// The sender, to whom the use of shared resources is attributed.
  package var sender: RequestSender {
    if let server { return server.configuration.sender(self) }
    return principal.name == nil ? .address(TrustedProxies().client(of: self)) : .principal(principal)
  }

  /// Runs a computation that may take long, where it does not hold up the other connections of the event loop: on a
  /// thread for computations, once one is free. Then the caller continues on the event loop.
  ///
  /// The closure keeps its thread until it returns, so it must not wait for anything. A disconnect removes the
  /// computation from the queue, and cancels the task. Searches with a time limit end by
  /// ``Basics/ComputationDeadline``, which counts from this call.
  ///
  /// - Throws: the error of the closure; ``Problem`` 503 `overloaded` where no thread was free in time.
  package func computing<Value>(_ body: () throws(Problem) -> Value) async throws(Problem) -> Value {
    func result() -> Result<Value, Problem> {
      do throws(Problem) {
        return .success(try body())
      } catch {
        return .failure(error)
      }
    }
    let computed: Result<Value, Problem>
    if let server {
      do {
        computed = try await server.computations.run(from: .init(client: sender, connection: remoteAddress), result)
      } catch is CancellationError {
        throw HTTPBodyError.cancelled.problem
      } catch {
        throw server.overloaded("too many computations wait for a processor")
      }
    } else {
      // The closure is asynchronous, so that it starts on that executor: a synchronous one would run on the caller's.
      computed = await withTaskExecutorPreference(globalConcurrentExecutor) { () async in result() }
    }
    return try computed.get()
  }

  /// The executor for the pieces of a long transfer, such as the rows of an import. Each piece takes little.
  package var transferExecutor: any TaskExecutor {
    server?.computations.transfers ?? globalConcurrentExecutor
  }
}
