package notification

import "attestry/evidence"

// TargetType is a way to notify a target.
type TargetType string

// The types of targets.
const (
	Slack   TargetType = "SLACK"
	Webhook TargetType = "WEBHOOK"
	Email   TargetType = "EMAIL"
)

// Channel has the properties of a type of targets: a row of Channels. Package notify sends to each type,
// and api/organizations has the table of requests and responses.
type Channel struct {
	Type TargetType
	// ByMail is true if targets have Emails. Others have the URL Webhook, which is a secret.
	ByMail bool
	// Signed is true if notices are signed with a secret of the target.
	Signed bool
	// ForMachines is true if there is one notice per artifact. People get one notice about many.
	ForMachines bool
}

// Channels are all types of targets, in the order in which messages name them.
var Channels = []Channel{
	{Type: Slack},
	{Type: Webhook, Signed: true, ForMachines: true},
	{Type: Email, ByMail: true},
}

// Channel returns the row of the type, or an empty one for an unknown type.
func (t TargetType) Channel() Channel {
	channel, _ := evidence.First(Channels, func(c Channel) bool { return c.Type == t })
	return channel
}
