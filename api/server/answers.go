package server

import "net/http"

// OrgPath is the path of an operation on an organization.
type OrgPath struct {
	Org string `path:"org" doc:"Name of the organization."`
}

// TextAnswer is the bare JSON string that most writes answer.
type TextAnswer struct {
	Status int
	Body   string
}

// OK is the answer of a write that made nothing new.
func OK() *TextAnswer { return &TextAnswer{Status: http.StatusOK, Body: "OK"} }

// Created is the answer of a write that made something new.
func Created() *TextAnswer { return &TextAnswer{Status: http.StatusCreated, Body: "OK"} }
