/// TLS 1.2 and 1.3 by OpenSSL, as a Transport.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "net/transport.h"

struct ssl_ctx_st;

namespace tutti::net {

/// PEM files of a server.
struct TlsFiles {
  std::string certificate;  ///< With those that lead to its authority, its own first.
  std::string key;
  std::string client_ca;  ///< Who signs clients' certificates; empty: nobody is asked for one.
  bool client_required = false;  ///< Clients without a certificate are turned away.
};

/// Whom a client trusts, and who it is.
struct TlsTrust {
  std::string ca;           ///< PEM file of authorities; empty: those of the system.
  std::string certificate;  ///< Its own, where the server asks for one; with its key.
  std::string key;
  std::string ca_text;  ///< The same as PEM text, each instead of its file.
  std::string certificate_text;
  std::string key_text;
  std::string server_name;  ///< Whose certificate the server shows; empty: that of the URL's host.
  bool unverified = false;  ///< Whoever answers is believed.
};

/// What was read from the files; connections keep theirs when it is read anew.
using TlsSettings = std::shared_ptr<ssl_ctx_st>;

Result<TlsSettings> read_server_tls(const TlsFiles& files);
Result<TlsSettings> read_client_tls(const TlsTrust& trust);

std::unique_ptr<Transport> accept_tls(Descriptor socket, const TlsSettings& settings);
/// `host` must stand in the server's certificate.
std::unique_ptr<Transport> connect_tls(Descriptor socket, const TlsSettings& settings,
                                       const std::string& host);

}  // namespace tutti::net
