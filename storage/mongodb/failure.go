package mongodb

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/topology"

	"attestry/storage"
)

// refusals are the server's error codes for writes that it refuses until its operator repairs something.
var refusals = map[int]string{
	13:    storage.PermissionDenied, // Unauthorized
	371:   storage.WritesBlocked,    // UserWritesBlocked
	14031: storage.DiskFull,         // OutOfDiskSpace
}

// explainWrite returns a storage.ErrWriteRefused if the server refused a write.
func explainWrite(err error) error {
	var failure mongo.ServerError
	if !errors.As(err, &failure) {
		return err
	}
	for code, reason := range refusals {
		if failure.HasErrorCode(code) {
			return storage.RefuseWrite(storage.Database, reason, err)
		}
	}
	return err
}

// outageCodes are the server's error codes for temporary faults and those that an operator repairs: elections,
// shutdowns, time limits of the server, a full disk, wrong credentials.
var outageCodes = []int{
	6, 7, 89, 9001, 202, 262, // HostUnreachable, HostNotFound, NetworkTimeout, SocketException, NetworkInterfaceExceededTimeLimit, ExceededTimeLimit
	91, 11600, 11601, 11602, // ShutdownInProgress, InterruptedAtShutdown, Interrupted, InterruptedDueToReplStateChange
	189, 10107, 10058, 13435, 13436, // PrimarySteppedDown, NotWritablePrimary, its former code, NotPrimaryNoSecondaryOk, NotPrimaryOrSecondary
	43, 175, // CursorNotFound, QueryPlanKilled: the server has restarted, or an index was built, within a query
	64, 79, 100, 133, 134, // WriteConcernTimeout, UnknownReplWriteConcern, UnsatisfiableWriteConcern, FailedToSatisfyReadPreference, ReadConcernMajorityNotAvailableYet
	14031,  // OutOfDiskSpace
	13, 18, // Unauthorized, AuthenticationFailed
}

// deadlineMargin is longer than a round trip to the server.
const deadlineMargin = time.Second

// command runs a command within commandTimeout and marks outages. No answer within commandTimeout is an outage. No
// answer before an earlier deadline of the caller is none.
func command(ctx context.Context, run func(context.Context) error) error {
	bounded, cancel := context.WithTimeout(ctx, commandTimeout)
	defer cancel()
	err := run(bounded)
	switch {
	case err == nil || ctx.Err() != nil:
		return err
	case unreachable(err):
		return storage.Outage(storage.Database, err)
	case !mongo.IsTimeout(err):
		return err
	case deadlineReached(ctx):
		return fmt.Errorf("%w: %w", context.DeadlineExceeded, err)
	default:
		return storage.Outage(storage.Database, err)
	}
}

// deadlineReached reports whether the caller's deadline is the cause of a timeout. The server and the driver end a
// command about a round trip before it.
func deadlineReached(ctx context.Context) bool {
	deadline, limited := ctx.Deadline()
	return limited && time.Until(deadline) <= deadlineMargin
}

// unreachable reports whether the database could not be reached, or could not serve. A timeout alone is neither.
func unreachable(err error) bool {
	if _, ok := errors.AsType[topology.ServerSelectionError](err); ok || errors.Is(err, mongo.ErrClientDisconnected) {
		return true
	}
	if server, ok := errors.AsType[mongo.ServerError](err); ok && slices.ContainsFunc(server.ErrorCodes(), isOutageCode) {
		return true
	}
	return mongo.IsNetworkError(err) && !mongo.IsTimeout(err)
}

func isOutageCode(code int) bool { return slices.Contains(outageCodes, code) }
