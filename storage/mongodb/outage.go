package mongodb

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/topology"

	"attestry/storage"
)

// outageCodes are the server's codes for what ends by itself or by an operator's hand:
// elections, shutdowns, time limits of the server, a full disk, wrong credentials.
var outageCodes = []int{
	6, 7, 89, 9001, 202, // HostUnreachable, HostNotFound, NetworkTimeout, SocketException, NetworkInterfaceExceededTimeLimit
	91, 11600, 11601, 11602, // ShutdownInProgress, InterruptedAtShutdown, Interrupted, InterruptedDueToReplStateChange
	189, 10107, 13435, 13436, // PrimarySteppedDown, NotWritablePrimary, NotPrimaryNoSecondaryOk, NotPrimaryOrSecondary
	64, 79, 100, 133, 134, // WriteConcernTimeout, UnknownReplWriteConcern, UnsatisfiableWriteConcern, FailedToSatisfyReadPreference, ReadConcernMajorityNotAvailableYet
	14031,  // OutOfDiskSpace
	13, 18, // Unauthorized, AuthenticationFailed
}

// command runs a command within commandTimeout and marks an error of it that is an
// outage. The time limit makes a server that never answers an outage, where the
// caller's deadline, which is no outage, would only come later.
func command(ctx context.Context, run func(context.Context) error) error {
	bounded, cancel := context.WithTimeout(ctx, commandTimeout)
	defer cancel()
	err := run(bounded)
	switch {
	case err == nil || ctx.Err() != nil:
		return err
	case outOfReach(err):
		return storage.Outage("database", err)
	case !mongo.IsTimeout(err):
		return err
	case endsFirst(ctx, bounded):
		return fmt.Errorf("%w: %w", context.DeadlineExceeded, err)
	default:
		return storage.Outage("database", err)
	}
}

// endsFirst tells whether the caller's own deadline is what bounds the command.
func endsFirst(caller, bounded context.Context) bool {
	own, limited := caller.Deadline()
	deadline, _ := bounded.Deadline()
	return limited && !own.After(deadline)
}

// outOfReach tells whether an error means that the database could not be reached, or
// could not serve. Running out of time alone does not.
func outOfReach(err error) bool {
	var selection topology.ServerSelectionError
	if errors.As(err, &selection) || errors.Is(err, mongo.ErrClientDisconnected) {
		return true
	}
	var server mongo.ServerError
	if errors.As(err, &server) && slices.ContainsFunc(server.ErrorCodes(), isOutageCode) {
		return true
	}
	return mongo.IsNetworkError(err) && !mongo.IsTimeout(err)
}

func isOutageCode(code int) bool { return slices.Contains(outageCodes, code) }
