// The only file that knows OpenSSL's TLS.
#include "net/tls.h"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include "base/check.h"

namespace tutti::net {
namespace {

constexpr std::size_t record_bytes = 16 << 10U;

// --- A socket without SIGPIPE -------------------------------------------------------------------

int write_without_signal(BIO* bio, const char* bytes, int size) {
  BIO_clear_retry_flags(bio);
  const auto sent = ::send(static_cast<int>(BIO_get_fd(bio, nullptr)), bytes,
                           static_cast<std::size_t>(size), MSG_NOSIGNAL);
  if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) {
    BIO_set_retry_write(bio);
  }
  return static_cast<int>(sent);
}

const BIO_METHOD* quiet_socket() {
  static const BIO_METHOD* const method = [] {
    const BIO_METHOD* plain = BIO_s_socket();
    BIO_METHOD* quiet =
        BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK | BIO_TYPE_DESCRIPTOR, "socket");
    BIO_meth_set_write(quiet, write_without_signal);
    BIO_meth_set_read(quiet, BIO_meth_get_read(plain));
    BIO_meth_set_ctrl(quiet, BIO_meth_get_ctrl(plain));
    BIO_meth_set_create(quiet, BIO_meth_get_create(plain));
    BIO_meth_set_destroy(quiet, BIO_meth_get_destroy(plain));
    return quiet;
  }();
  return method;
}

// --- Connections --------------------------------------------------------------------------------

class TlsTransport final : public Transport {
 public:
  TlsTransport(Descriptor socket, SSL* ssl) : socket_(std::move(socket)), ssl_(ssl, &SSL_free) {
    BIO* const bio = BIO_new(quiet_socket());
    BIO_set_fd(bio, socket_.get(), BIO_NOCLOSE);
    SSL_set_bio(ssl, bio, bio);
  }

  int descriptor() const override { return socket_.get(); }

  Progress handshake() override {
    ERR_clear_error();
    const int done = SSL_do_handshake(ssl_.get());
    return done == 1 ? Progress{} : stopped(done);
  }

  Progress read(std::span<char> to) override {
    ERR_clear_error();
    std::size_t bytes = 0;
    const int done = SSL_read_ex(ssl_.get(), to.data(), to.size(), &bytes);
    return done == 1 ? Progress{.bytes = bytes} : stopped(done);
  }

  Progress write(std::span<const iovec> from) override {
    ERR_clear_error();
    std::array<char, record_bytes> joined;
    const std::string_view text = next_record(from, joined);
    std::size_t bytes = 0;
    const int done = SSL_write_ex(ssl_.get(), text.data(), text.size(), &bytes);
    return done == 1 ? Progress{.bytes = bytes} : stopped(done);
  }

  bool buffered() const override { return SSL_pending(ssl_.get()) > 0; }

  void end_writing() override {
    ERR_clear_error();
    if (SSL_is_init_finished(ssl_.get()) == 1) SSL_shutdown(ssl_.get());
    ::shutdown(socket_.get(), SHUT_WR);
  }

  std::string certificate() const override {
    const std::unique_ptr<X509, decltype(&X509_free)> peer(SSL_get1_peer_certificate(ssl_.get()),
                                                           &X509_free);
    if (!peer) return {};
    const std::unique_ptr<BIO, decltype(&BIO_free)> out(BIO_new(BIO_s_mem()), &BIO_free);
    X509_NAME_print_ex(out.get(), X509_get_subject_name(peer.get()), 0, XN_FLAG_RFC2253);
    char* text = nullptr;
    const long size = BIO_get_mem_data(out.get(), &text);
    return {text, static_cast<std::size_t>(size)};
  }

  Error error() const override { return error_; }

 private:
  /// One record at a time: a large piece as it is, small ones joined. After a wait the same bytes
  /// come again, maybe with more behind them, as OpenSSL asks for.
  static std::string_view next_record(std::span<const iovec> from,
                                      std::array<char, record_bytes>& joined) {
    if (from.size() == 1 || from[0].iov_len >= joined.size()) {
      return {static_cast<const char*>(from[0].iov_base), from[0].iov_len};
    }
    std::size_t size = 0;
    for (const iovec& piece : from) {
      const std::size_t bytes = std::min(piece.iov_len, joined.size() - size);
      std::memcpy(joined.data() + size, piece.iov_base, bytes);
      size += bytes;
    }
    return {joined.data(), size};
  }

  Progress stopped(int returned) {
    switch (SSL_get_error(ssl_.get(), returned)) {
      case SSL_ERROR_WANT_READ:
        return {.state = Progress::State::wait_readable};
      case SSL_ERROR_WANT_WRITE:
        return {.state = Progress::State::wait_writable};
      case SSL_ERROR_ZERO_RETURN:
        return {.state = Progress::State::ended};
      case SSL_ERROR_SYSCALL:
        error_ = {.code = Code::io,
                  .what = errno != 0 ? std::generic_category().message(errno)
                                     : "the connection ended within TLS"};
        break;
      default:
        error_ = tls_error();
    }
    return {.state = Progress::State::failed};
  }

  Error tls_error() const {
    const long verified = SSL_get_verify_result(ssl_.get());
    if (verified != X509_V_OK) {
      return {.code = Code::io,
              .what = std::string("its certificate is not accepted: ") +
                      X509_verify_cert_error_string(verified),
              .hint = "check the host's name, and name the authority that signed the certificate"};
    }
    const char* const reason = ERR_reason_error_string(ERR_peek_error());
    return {.code = Code::io,
            .what = std::string("TLS failed: ") + (reason != nullptr ? reason : "unknown reason"),
            .hint = "is that an https server, and does it want a certificate?"};
  }

  Descriptor socket_;
  std::unique_ptr<SSL, decltype(&SSL_free)> ssl_;
  Error error_;
};

// --- Settings -----------------------------------------------------------------------------------

/// OpenSSL's reason for refusing a file.
std::unexpected<Error> refused(const std::string& file, std::string what) {
  const unsigned long error = ERR_peek_error();  // The first one is the cause.
  if (ERR_SYSTEM_ERROR(error)) {
    what += ": " + std::generic_category().message(ERR_GET_REASON(error));
  } else if (const char* const reason = ERR_reason_error_string(error)) {
    what += std::string(": ") + reason;
  }
  ERR_clear_error();
  return fail({.code = Code::io,
               .what = std::move(what),
               .where = file,
               .hint = "it must be a PEM file that this user may read"});
}

TlsSettings new_settings(const SSL_METHOD* method) {
  TlsSettings out(SSL_CTX_new(method), &SSL_CTX_free);
  CHECK(out != nullptr);
  SSL_CTX_set_min_proto_version(out.get(), TLS1_2_VERSION);
  SSL_CTX_set_mode(out.get(), SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                  SSL_MODE_RELEASE_BUFFERS | SSL_MODE_AUTO_RETRY);
  return out;
}

Result<void> load_identity(SSL_CTX* settings, const std::string& certificate,
                           const std::string& key) {
  ERR_clear_error();
  if (SSL_CTX_use_certificate_chain_file(settings, certificate.c_str()) != 1) {
    return refused(certificate, "cannot read the certificate");
  }
  if (SSL_CTX_use_PrivateKey_file(settings, key.c_str(), SSL_FILETYPE_PEM) != 1) {
    return refused(key, "cannot use this key with the certificate " + certificate);
  }
  return {};
}

// --- PEM as text --------------------------------------------------------------------------------

using Bio = std::unique_ptr<BIO, decltype(&BIO_free)>;
using Certificate = std::unique_ptr<X509, decltype(&X509_free)>;

Bio reading(const std::string& text) {
  return {BIO_new_mem_buf(text.data(), static_cast<int>(text.size())), &BIO_free};
}

/// Nobody is there to type the password of an encrypted key.
int no_password(char*, int, int, void*) { return -1; }

Certificate next_certificate(BIO* from) {
  return {PEM_read_bio_X509(from, nullptr, &no_password, nullptr), &X509_free};
}

/// Did reading stop because nothing more is there, rather than at something broken?
bool at_end_of_pem() {
  const unsigned long error = ERR_peek_last_error();
  return ERR_GET_LIB(error) == ERR_LIB_PEM && ERR_GET_REASON(error) == PEM_R_NO_START_LINE;
}

std::unexpected<Error> refused_text(const std::string& what) {
  auto out = refused("", what);
  out.error().hint = "it must be PEM: -----BEGIN ... and so on";
  return out;
}

Result<void> load_authority_text(SSL_CTX* settings, const std::string& text) {
  ERR_clear_error();
  const Bio bio = reading(text);
  std::size_t count = 0;
  while (const Certificate one = next_certificate(bio.get())) {
    X509_STORE_add_cert(SSL_CTX_get_cert_store(settings), one.get());
    ++count;
  }
  if (count == 0 || !at_end_of_pem()) return refused_text("cannot read the authority");
  ERR_clear_error();
  return {};
}

Result<void> load_identity_text(SSL_CTX* settings, const std::string& certificate,
                                const std::string& key) {
  ERR_clear_error();
  const Bio bio = reading(certificate);
  const Certificate own = next_certificate(bio.get());
  if (!own || SSL_CTX_use_certificate(settings, own.get()) != 1) {
    return refused_text("cannot read the client's certificate");
  }
  while (const Certificate above = next_certificate(bio.get())) {
    SSL_CTX_add1_chain_cert(settings, above.get());
  }
  if (!at_end_of_pem()) return refused_text("cannot read the client's certificate");
  ERR_clear_error();
  const Bio key_bio = reading(key);
  const std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> read_key(
      PEM_read_bio_PrivateKey(key_bio.get(), nullptr, &no_password, nullptr), &EVP_PKEY_free);
  if (!read_key || SSL_CTX_use_PrivateKey(settings, read_key.get()) != 1) {
    return refused_text("cannot use the client's key with its certificate");
  }
  return {};
}

// NOLINTNEXTLINE(readability-function-size): the parameters are OpenSSL's.
int choose_protocol(SSL*, const unsigned char** out, unsigned char* out_size,
                    const unsigned char* offered, unsigned offered_size, void*) {
  static constexpr unsigned char ours[] = "\x08http/1.1";
  unsigned char* chosen = nullptr;
  const int found =
      SSL_select_next_proto(&chosen, out_size, ours, sizeof ours - 1, offered, offered_size);
  if (found != OPENSSL_NPN_NEGOTIATED) return SSL_TLSEXT_ERR_NOACK;
  *out = chosen;
  return SSL_TLSEXT_ERR_OK;
}

}  // namespace

Result<TlsSettings> read_server_tls(const TlsFiles& files) {
  TlsSettings out = new_settings(TLS_server_method());
  SSL_CTX_set_options(out.get(), SSL_OP_IGNORE_UNEXPECTED_EOF | SSL_OP_NO_RENEGOTIATION);
  TRY(load_identity(out.get(), files.certificate, files.key));
  SSL_CTX_set_alpn_select_cb(out.get(), choose_protocol, nullptr);
  if (!files.client_ca.empty()) {
    STACK_OF(X509_NAME)* const names = SSL_load_client_CA_file(files.client_ca.c_str());
    if (names == nullptr ||
        SSL_CTX_load_verify_locations(out.get(), files.client_ca.c_str(), nullptr) != 1) {
      return refused(files.client_ca, "cannot read the authority of clients");
    }
    SSL_CTX_set_client_CA_list(out.get(), names);
    SSL_CTX_set_verify(
        out.get(), SSL_VERIFY_PEER | (files.client_required ? SSL_VERIFY_FAIL_IF_NO_PEER_CERT : 0),
        nullptr);
    static constexpr unsigned char id[] = "tutti";  // Resumed sessions know who asked.
    SSL_CTX_set_session_id_context(out.get(), id, sizeof id - 1);
  }
  return out;
}

Result<TlsSettings> read_client_tls(const TlsTrust& trust) {
  TlsSettings out = new_settings(TLS_client_method());
  SSL_CTX_set_verify(out.get(), trust.unverified ? SSL_VERIFY_NONE : SSL_VERIFY_PEER, nullptr);
  ERR_clear_error();
  if (!trust.ca_text.empty()) {
    TRY(load_authority_text(out.get(), trust.ca_text));
  } else if (trust.ca.empty()) {
    SSL_CTX_set_default_verify_paths(out.get());
  } else if (SSL_CTX_load_verify_locations(out.get(), trust.ca.c_str(), nullptr) != 1) {
    return refused(trust.ca, "cannot read the authority");
  }
  if (!trust.certificate_text.empty()) {
    TRY(load_identity_text(out.get(), trust.certificate_text, trust.key_text));
  } else if (!trust.certificate.empty()) {
    TRY(load_identity(out.get(), trust.certificate, trust.key));
  }
  return out;
}

std::unique_ptr<Transport> accept_tls(Descriptor socket, const TlsSettings& settings) {
  SSL* const ssl = SSL_new(settings.get());
  CHECK(ssl != nullptr);
  SSL_set_accept_state(ssl);
  return std::make_unique<TlsTransport>(std::move(socket), ssl);
}

std::unique_ptr<Transport> connect_tls(Descriptor socket, const TlsSettings& settings,
                                       const std::string& host) {
  SSL* const ssl = SSL_new(settings.get());
  CHECK(ssl != nullptr);
  SSL_set_connect_state(ssl);
  std::array<unsigned char, 16> bytes{};
  const bool is_address = ::inet_pton(AF_INET, host.c_str(), bytes.data()) == 1 ||
                          ::inet_pton(AF_INET6, host.c_str(), bytes.data()) == 1;
  if (is_address) {
    X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), host.c_str());
  } else {
    SSL_set1_host(ssl, host.c_str());
    SSL_set_tlsext_host_name(ssl, host.c_str());
  }
  return std::make_unique<TlsTransport>(std::move(socket), ssl);
}

}  // namespace tutti::net
