/// Certificates for tests, made when they run: nothing secret lies in the repository.
#pragma once

#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <cstdio>
#include <memory>
#include <string>

namespace tutti::net::test {

using Key = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;
using Certificate = std::unique_ptr<X509, decltype(&X509_free)>;

/// A key and its certificate, and the files that hold them.
struct Identity {
  Key key{nullptr, &EVP_PKEY_free};
  Certificate certificate{nullptr, &X509_free};
  std::string certificate_file;
  std::string key_file;
};

struct CertificateOrder {
  std::string name;                     ///< CN of the subject; also the names of the files.
  std::string hosts;                    ///< "DNS:localhost,IP:127.0.0.1", or empty.
  long seconds_left = 3'600;            ///< Negative: it has expired.
  const Identity* authority = nullptr;  ///< Null: it signs itself and is an authority.
};

inline void add_extension(X509* certificate, X509* issuer, int kind, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  X509_EXTENSION* const extension = X509V3_EXT_conf_nid(nullptr, &context, kind, value.c_str());
  ASSERT_NE(extension, nullptr) << value;
  X509_add_ext(certificate, extension, -1);
  X509_EXTENSION_free(extension);
}

inline Identity make_identity(const std::string& folder, const CertificateOrder& order) {
  static long serial = 1;
  Identity out;
  std::string curve = "P-256";
  out.key.reset(EVP_PKEY_Q_keygen(nullptr, nullptr, "EC", curve.data()));
  out.certificate.reset(X509_new());
  X509* const certificate = out.certificate.get();
  const Identity& signer = order.authority != nullptr ? *order.authority : out;
  X509_set_version(certificate, 2);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate), serial++);
  X509_gmtime_adj(X509_getm_notBefore(certificate), -7'200);
  X509_gmtime_adj(X509_getm_notAfter(certificate), order.seconds_left);
  X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate), "CN", MBSTRING_UTF8,
                             reinterpret_cast<const unsigned char*>(order.name.c_str()), -1, -1, 0);
  X509_set_issuer_name(certificate, X509_get_subject_name(signer.certificate.get()));
  X509_set_pubkey(certificate, out.key.get());
  if (order.authority == nullptr) {
    add_extension(certificate, certificate, NID_basic_constraints, "critical,CA:TRUE");
  }
  if (!order.hosts.empty()) {
    add_extension(certificate, signer.certificate.get(), NID_subject_alt_name, order.hosts);
  }
  EXPECT_GT(X509_sign(certificate, signer.key.get(), EVP_sha256()), 0);
  out.certificate_file = folder + "/" + order.name + ".crt";
  out.key_file = folder + "/" + order.name + ".key";
  using File = std::unique_ptr<std::FILE, decltype(&std::fclose)>;
  const File certificates(std::fopen(out.certificate_file.c_str(), "w"), &std::fclose);
  const File keys(std::fopen(out.key_file.c_str(), "w"), &std::fclose);
  EXPECT_EQ(PEM_write_X509(certificates.get(), certificate), 1);
  EXPECT_EQ(PEM_write_PrivateKey(keys.get(), out.key.get(), nullptr, nullptr, 0, nullptr, nullptr),
            1);
  return out;
}

}  // namespace tutti::net::test
