package server

import "net/http"

// OrgPath is the path of an operation on an organization.
type OrgPath struct {
	Org string `path:"org" doc:"Name of the organization."`
}

// textAnswer is the bare JSON string that most writes answer.
type textAnswer struct {
	Status int
	Body   string
}

// done is the answer of a write that made nothing new.
func done() *textAnswer { return &textAnswer{Status: http.StatusOK, Body: "OK"} }

// made is the answer of a write that made something new.
func made() *textAnswer { return &textAnswer{Status: http.StatusCreated, Body: "OK"} }
