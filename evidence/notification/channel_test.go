package notification_test

import (
	"testing"

	"attestry/evidence/notification"
)

func TestTypesOfTargetsHaveTheirChannels(t *testing.T) {
	for _, channel := range notification.Channels {
		if got := channel.Type.Channel(); got != channel {
			t.Errorf("the channel of %s is %+v", channel.Type, got)
		}
	}
	if got := notification.TargetType("pager").Channel(); got != (notification.Channel{}) {
		t.Errorf("the channel of an unknown type is %+v", got)
	}
}
