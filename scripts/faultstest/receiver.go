package main

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"sync"
)

// receiver gets notifications.
type receiver struct {
	address string
	server  *http.Server
	mutex   sync.Mutex
	// delivered has the ids of deliveries by the name of their notice. A delivery may come several times.
	delivered map[string]map[string]bool
}

// notice is the body of a notification.
type notice struct {
	Type                                   string `json:"event_type"`
	Environment                            string
	Snapshot, Trail, Artifact, Attestation part
}

// part is a subject of a notice, with some of these members.
type part struct{ Index, Name, Fingerprint, ID string }

func (n *notice) name() string {
	return fmt.Sprintf("notice %s %s:%s %s %s %s", n.Type, n.Environment, n.Snapshot.Index, n.Trail.Name, n.Artifact.Fingerprint, n.Attestation.ID)
}

func newReceiver() (*receiver, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	r := &receiver{address: "http://" + listener.Addr().String(), delivered: map[string]map[string]bool{}}
	r.server = &http.Server{Handler: r}
	go r.server.Serve(listener) // until close
	return r, nil
}

// ServeHTTP accepts a notification.
func (r *receiver) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	var n notice
	if err := json.NewDecoder(request.Body).Decode(&n); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	name := n.name()
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if r.delivered[name] == nil {
		r.delivered[name] = map[string]bool{}
	}
	r.delivered[name][request.Header.Get("Webhook-Id")] = true
	w.WriteHeader(http.StatusNoContent)
}
