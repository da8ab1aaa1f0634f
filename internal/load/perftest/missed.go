package perftest

import "strings"

// Missed says whether a client came before its server listened, by what it printed to its standard error:
//
//	Event: RDMA_CM_EVENT_REJECTED; error: 8.
//	Failed to connect RDMA CM events.
//	Segmentation fault
//
// With --rdma_cm the two ends connect twice. The first connection is for what they have to tell each other; they agree
// by it to connect for the test, and then the server begins to listen again while the client connects. A client that is
// faster is refused: 8 is IB_CM_REJ_INVALID_SERVICE_ID, nobody listens. It means to try ten times more, but the refusal
// has already been counted as a connection (connects_left), so that it waits for none, and crashes. Source:
// create_rdma_cm_connection, rdma_cm_client_connection and rdma_cm_event_error_handler in perftest_communication.c;
// ib_cm.h of Linux.
func Missed(messages string) bool {
	return strings.Contains(messages, "RDMA_CM_EVENT_REJECTED; error: 8.")
}
