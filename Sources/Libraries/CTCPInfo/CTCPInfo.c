#include "CTCPInfo.h"

#ifdef __linux__
#include <linux/tcp.h>
#include <stddef.h>

#define SAME_OFFSET(field)                                                                                    \
  _Static_assert(                                                                                             \
      offsetof(struct linux_tcp_info, field) == offsetof(struct tcp_info, tcpi_##field),                    \
      #field " has another offset in the system's struct tcp_info")

SAME_OFFSET(unacked);
SAME_OFFSET(bytes_acked);
SAME_OFFSET(notsent_bytes);
#endif
