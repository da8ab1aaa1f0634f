package perftest

import "strings"

// Missed reports whether a client connected before its server listened, from the client's standard error:
//
//	Event: RDMA_CM_EVENT_REJECTED; error: 8.
//	Failed to connect RDMA CM events.
//	Segmentation fault
//
// With --rdma_cm the two ends connect twice. The first connection exchanges parameters. Then both agree to connect for
// the test, and the server begins to listen again while the client connects. A client that is faster is refused: 8 is
// IB_CM_REJ_INVALID_SERVICE_ID, which means that no process listens. The client should retry ten times, but the refusal
// was already counted as a connection (connects_left), so it waits for none, and crashes. Source:
// create_rdma_cm_connection, rdma_cm_client_connection and rdma_cm_event_error_handler in perftest_communication.c;
// ib_cm.h of Linux.
func Missed(messages string) bool {
	return strings.Contains(messages, "RDMA_CM_EVENT_REJECTED; error: 8.")
}
