import Glibc
import Hosting
import ServerFeatures

// The server without features. Its settings are those of the environment.

StartSignals.handle()
do {
  try await Application.serve(Settings(), features: [])
} catch {
  StandardError.write(Array("waymark-core: \(error.reason.escapingControls(except: "\n"))\n".utf8))
  exit(error.code.rawValue)
}
