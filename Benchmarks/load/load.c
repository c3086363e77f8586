// A load generator for HTTP/1.1 and Redis: one thread, epoll, persistent connections with one request at a time on
// each.
//
//   load -p PORT -t TARGETS [-c CONNECTIONS] [-s SECONDS] [-r RATE [-o]] [-P http|redis] [-a ADDRESS]
//
// TARGETS is a file of requests, one per line, sent in turn: for HTTP "GET /path" or "POST /path BODY" (a JSON body, or
// a merge patch for PATCH), for Redis a command with spaces between its words. Without a rate, each connection sends
// its next request after the response (closed loop). With a rate, requests are due at even intervals, and the
// connection that has been idle longest sends the next one. Latency counts from the due time, so that stalls of the
// server are included (no coordinated omission).
//
// Prints one line: requests per second, median, 99th percentile and maximum of the latency in microseconds, and the
// number of errors (HTTP status other than 2xx, 404 and 412; Redis "-").
//
// With -o (open loop), requests that are due while no connection is idle are dropped. The rate and the latencies are
// those of responses without error, and the number of dropped requests is printed last.

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { receive_size = 1 << 20, exact_latencies = 1 << 20 };

typedef struct {
  char *bytes;
  size_t length;
} request;

typedef struct {
  int socket;
  char *received;  // The received part of an incomplete response.
  size_t have;
  size_t need;  // The length of the response; 0 until its head has been received.
  const request *sending;
  size_t sent;
  int64_t due;  // The due time of the current request; 0 if idle.
  int failed;   // 1 if the response is an error.
} connection;

static request *requests;
static size_t request_count, next_request;
static int is_redis, is_open;

// The receive buffer of all connections, because thousands of buffers would evict the server's data from the caches.
static char *buffer;

static uint32_t latencies[exact_latencies];  // The number of responses by microseconds.
static uint64_t completed, errors, dropped;
static int64_t longest;

static int64_t now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static void die(const char *operation) {
  perror(operation);
  exit(1);
}

// --- Requests

static request http_request(char *line) {
  char *method = strtok(line, " "), *path = strtok(NULL, " "), *body = strtok(NULL, "");
  const char *type = strcmp(method, "PATCH") ? "application/json" : "application/merge-patch+json";
  char *bytes;
  int length = body ? asprintf(&bytes, "%s %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: %s\r\nContent-Length: %zu\r\n\r\n%s",
                               method, path, type, strlen(body), body)
                    : asprintf(&bytes, "%s %s HTTP/1.1\r\nHost: localhost\r\n\r\n", method, path);
  return (request){bytes, length};
}

static request redis_request(char *line) {
  char *words[64], *bytes = malloc(strlen(line) * 2 + 1024);
  int count = 0;
  for (char *word = strtok(line, " "); word && count < 64; word = strtok(NULL, " ")) words[count++] = word;
  int length = sprintf(bytes, "*%d\r\n", count);
  for (int i = 0; i < count; i++) length += sprintf(bytes + length, "$%zu\r\n%s\r\n", strlen(words[i]), words[i]);
  return (request){bytes, length};
}

static void read_requests(const char *path) {
  FILE *file = fopen(path, "r");
  if (!file) die(path);
  char *line = NULL;
  size_t size = 0, room = 0;
  ssize_t length;
  while ((length = getline(&line, &size, file)) > 1) {
    if (line[length - 1] == '\n') line[length - 1] = 0;
    if (request_count == room) requests = realloc(requests, (room = room ? room * 2 : 1024) * sizeof(request));
    requests[request_count++] = is_redis ? redis_request(line) : http_request(line);
  }
  fclose(file);
  if (!request_count) exit(fprintf(stderr, "%s has no requests\n", path));
}

// --- Responses

// Returns the length of the response, or 0 if its head is incomplete.
static size_t http_length(connection *c) {
  buffer[c->have] = 0;
  char *end = strstr(buffer, "\r\n\r\n");
  if (!end) return 0;
  int status = atoi(buffer + 9);
  if ((status < 200 || status > 299) && status != 404 && status != 412) c->failed = 1;
  *end = 0;
  char *field = strcasestr(buffer, "\r\ncontent-length:");
  *end = '\r';
  if (!field && status != 204 && status != 304) exit(fprintf(stderr, "a response has no Content-Length\n"));
  return (end + 4 - buffer) + (field ? strtoul(field + 17, NULL, 10) : 0);
}

// Returns the length of the response, or 0 if it is incomplete.
static size_t redis_length(connection *c) {
  size_t position = 0;
  long remaining = 1;
  if (buffer[0] == '-') c->failed = 1;
  while (remaining > 0) {
    char *end = memchr(buffer + position, '\n', c->have - position);
    if (!end) return 0;
    char kind = buffer[position];
    long number = strtol(buffer + position + 1, NULL, 10);
    position = end + 1 - buffer;
    remaining--;
    if (kind == '*' && number > 0) remaining += number;
    if (kind == '$' && number >= 0) position += number + 2;
    if (position > c->have) return 0;
  }
  return position;
}

static void count_response(const connection *c) {
  errors += c->failed;
  if (is_open && c->failed) return;
  int64_t latency = now() - c->due, microseconds = latency / 1000;
  if (latency > longest) longest = latency;
  latencies[microseconds < exact_latencies ? microseconds : exact_latencies - 1]++;
  completed++;
}

static double percentile(double share) {
  uint64_t rank = share * completed, seen = 0;
  for (int i = 0; i < exact_latencies; i++)
    if ((seen += latencies[i]) > rank) return i;
  return exact_latencies;
}

// --- Connections

static void send_rest(connection *c) {
  while (c->sent < c->sending->length) {
    ssize_t count = send(c->socket, c->sending->bytes + c->sent, c->sending->length - c->sent, MSG_NOSIGNAL);
    if (count < 0 && errno == EAGAIN) return;  // epoll reports when the socket is writable again.
    if (count < 0) die("send");
    c->sent += count;
  }
}

static void begin(connection *c, int64_t due) {
  c->sending = &requests[next_request];
  next_request = (next_request + 1) % request_count;
  c->sent = c->have = c->need = c->failed = 0;
  c->due = due;
  send_rest(c);
}

// Returns 1 if the response is complete.
static int receive(connection *c) {
  if (c->have) memcpy(buffer, c->received, c->have);
  for (;;) {
    ssize_t count = recv(c->socket, buffer + c->have, receive_size - 1 - c->have, 0);
    if (count < 0 && errno == EAGAIN) {
      if (!c->have) return 0;
      if (!c->received) c->received = malloc(receive_size);
      memcpy(c->received, buffer, c->have);
      return 0;
    }
    if (count <= 0) exit(fprintf(stderr, "the server closed a connection\n"));
    c->have += count;
    if (!c->need) c->need = is_redis ? redis_length(c) : http_length(c);
    if (c->need && c->have >= c->need) return 1;
    if (c->have == receive_size - 1) exit(fprintf(stderr, "a response is too long\n"));
  }
}

static void open_connection(connection *c, const struct sockaddr_in *address, int epoll) {
  c->socket = socket(AF_INET, SOCK_STREAM, 0);
  int on = 1;
  if (c->socket < 0 || connect(c->socket, (const void *)address, sizeof *address)) die("connect");
  setsockopt(c->socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  fcntl(c->socket, F_SETFL, O_NONBLOCK);
  struct epoll_event event = {.events = EPOLLIN | EPOLLOUT | EPOLLET, .data.ptr = c};
  if (epoll_ctl(epoll, EPOLL_CTL_ADD, c->socket, &event)) die("epoll_ctl");
}

// --- The load

int main(int argc, char **argv) {
  int count = 64, port = 0, option;
  double seconds = 5, rate = 0;
  const char *targets = NULL, *host = "127.0.0.1";
  while ((option = getopt(argc, argv, "a:p:t:c:s:r:oP:")) != -1) {
    switch (option) {
      case 'a': host = optarg; break;
      case 'p': port = atoi(optarg); break;
      case 't': targets = optarg; break;
      case 'c': count = atoi(optarg); break;
      case 's': seconds = atof(optarg); break;
      case 'r': rate = atof(optarg); break;
      case 'o': is_open = 1; break;
      case 'P': is_redis = !strcmp(optarg, "redis"); break;
      default: return 64;
    }
  }
  if (!port || !targets) return fprintf(stderr, "a port (-p) and a file of targets (-t) are required\n"), 64;
  struct rlimit files = {65536, 65536};
  setrlimit(RLIMIT_NOFILE, &files);
  read_requests(targets);
  buffer = malloc(receive_size);
  next_request = now() % request_count;

  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
  if (inet_pton(AF_INET, host, &address.sin_addr) != 1) die("address");
  int epoll = epoll_create1(0);
  connection *connections = calloc(count, sizeof(connection));
  for (int i = 0; i < count; i++) open_connection(&connections[i], &address, epoll);

  int64_t start = now(), end = start + seconds * 1e9, due = start;
  int64_t interval = rate > 0 ? 1e9 / rate : 0;
  // A ring buffer of idle connections, for a rate. The longest idle connection is next, so that all are used evenly.
  connection **idle = calloc(count, sizeof(connection *));
  int idle_count = 0, idle_first = 0;
  prctl(PR_SET_TIMERSLACK, 1);  // By default, timers expire up to 50 microseconds late.
  for (int i = 0; i < count; i++) {
    if (interval) idle[(idle_first + idle_count++) % count] = &connections[i];
    else begin(&connections[i], now());
  }

  struct epoll_event events[1024];
  for (int64_t time; (time = now()) < end;) {
    int64_t wait = 100000000;
    if (interval) {
      for (; idle_count && due <= time; due += interval, idle_count--) {
        begin(idle[idle_first], due);
        idle_first = (idle_first + 1) % count;
      }
      for (; is_open && due <= time; due += interval) dropped++;
      if (idle_count && due - time < wait) wait = due - time;
    }
    int ready = epoll_pwait2(epoll, events, 1024, &(struct timespec){.tv_nsec = wait}, NULL);
    for (int i = 0; i < ready; i++) {
      connection *c = events[i].data.ptr;
      if (!c->due) continue;
      if (c->sent < c->sending->length) send_rest(c);
      if (!receive(c)) continue;
      count_response(c);
      c->due = 0;
      if (interval) idle[(idle_first + idle_count++) % count] = c;
      else begin(c, now());
    }
  }
  printf("%.0f %.0f %.0f %.0f %llu", completed / ((now() - start) / 1e9), percentile(0.5), percentile(0.99),
         longest / 1e3, (unsigned long long)errors);
  if (is_open) printf(" %llu", (unsigned long long)dropped);
  putchar(10);
}
