// A connection to a job's hub that says what a test makes it say.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <gtest/gtest.h>

#include "tests/host/bootstrap_job.h"

namespace gdakit::testing_bootstrap {

class RawClient {
 public:
  explicit RawClient(const TcpJob& job) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(job.address.port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(socket_.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  }

  template <class T>
  void send(const T& value) {
    send_bytes(&value, sizeof(value));
  }
  void send_bytes(const void* bytes, std::size_t size) {
    EXPECT_EQ(::send(socket_.get(), bytes, size, MSG_NOSIGNAL), static_cast<ssize_t>(size));
  }
  // False if the connection ended first.
  template <class T>
  bool receive(T& value) {
    return ::recv(socket_.get(), &value, sizeof(value), MSG_WAITALL) ==
           static_cast<ssize_t>(sizeof(value));
  }
  void close() { socket_.reset(); }

 private:
  UniqueFileDescriptor socket_;
};

}  // namespace gdakit::testing_bootstrap
