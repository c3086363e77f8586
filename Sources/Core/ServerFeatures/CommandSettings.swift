extension Setting {
  package static let listening = ListeningSettings()
  package static let client = CommandSettings()
}

package struct ListeningSettings: SettingGroup {
  package let title = "Listening and TLS"

  package let host = Setting.Key(
    "HTTP_HOST", .text("address"), affects: .operation, default: "127.0.0.1", "Address that the server listens on.")
  package let port = Setting.Key(
    "HTTP_PORT", .integer(0...65_535), affects: .operation, default: "8080",
    "Port that the server listens on; 0 selects a free one, which the log names.")
  package let certificateFile = Setting.Key(
    "TLS_CERTIFICATE_FILE", .file, affects: .operation, default: .described("none: no TLS"),
    "File of the server's certificate and its chain up to a root, in PEM; read again at SIGHUP.",
    details: "Needs `TLS_PRIVATE_KEY_FILE`.")
  package let privateKeyFile = Setting.Key(
    "TLS_PRIVATE_KEY_FILE", .file, affects: .operation, default: .described("none: no TLS"),
    "File of the certificate's private key, in PEM without a passphrase; read again at SIGHUP.",
    details: "Needs `TLS_CERTIFICATE_FILE`.")
  package let publicURL = Setting.Key(
    "PUBLIC_URL", .text("address"), affects: .responses, default: .described("none: links are relative"),
    "Address under which clients reach the service, such as https://example.com/poi.",
    details: "`Link`, `Location` and links in bodies begin with it.")
  package let trustedProxies = Setting.Key(
    "TRUSTED_PROXIES", .list("networks"), affects: .responses,
    "Addresses and networks, separated by commas, of proxies whose headers name the client.",
    details:
      "They are believed about the client's address and, by `X-Forwarded-Prefix`, about the path prefix that "
      + "they removed.")
}

/// The settings of the commands that call a running server.
package struct CommandSettings: SettingGroup {
  package let title = "Commands"

  package let apiKey = Setting.Key(
    "WAYMARK_API_KEY", .text("key"), affects: .operation, "API key that is sent to the server.", isSecret: true,
    option: .named("api-key"))
  package let authorities = Setting.Key(
    "SSL_CERT_FILE", .file, affects: .operation, default: .described("the authorities that the system trusts"),
    "File of the authorities that may have signed the server's certificate, in PEM.", option: .named("ca-file"))
  package let trace = Setting.Key(
    "TRACEPARENT", .text("context"), affects: .operation,
    "Trace that the requests belong to, as in W3C Trace Context.", option: .none)
}
