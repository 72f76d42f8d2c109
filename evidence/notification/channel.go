package notification

import "slices"

// TargetType is a way to notify a target.
type TargetType string

// The types of targets.
const (
	Slack   TargetType = "SLACK"
	Webhook TargetType = "WEBHOOK"
	Email   TargetType = "EMAIL"
)

// Channel is what differs between the types of targets: a row of Channels. How a channel sends is in
// the table in package notify, and its requests and answers by the one in api/organizations.
type Channel struct {
	Type TargetType
	// ByMail tells that targets have Emails. Others have the URL Webhook, which is a secret.
	ByMail bool
	// Signed tells that targets have secrets with which their notices are signed.
	Signed bool
	// ForMachines tells that each artifact has a notice of its own. People get one about many.
	ForMachines bool
}

// Channels are all types of targets, in the order in which messages name them.
var Channels = []Channel{
	{Type: Slack},
	{Type: Webhook, Signed: true, ForMachines: true},
	{Type: Email, ByMail: true},
}

// Channel returns the row of the type, or one that says nothing.
func (t TargetType) Channel() Channel {
	i := slices.IndexFunc(Channels, func(c Channel) bool { return c.Type == t })
	if i < 0 {
		return Channel{Type: t}
	}
	return Channels[i]
}
