package server

import "net/http"

// OrgPath is the path of an operation on an organization.
type OrgPath struct {
	Org string `path:"org" doc:"Name of the organization."`
}

// Answer is an answer that consists of a body. Its status is the first one of its route.
type Answer[T any] struct{ Body T }

// Answered makes the answer of a body.
func Answered[T any](body T) *Answer[T] { return &Answer[T]{Body: body} }

// StatusAnswer is an answer whose status the handler chooses among those of its route.
type StatusAnswer[T any] struct {
	Status int
	Body   T
}

// TextAnswer is the bare JSON string that most writes answer.
type TextAnswer = StatusAnswer[string]

// OK is the answer of a write that made nothing new.
func OK() *TextAnswer { return &TextAnswer{Status: http.StatusOK, Body: "OK"} }

// Created is the answer of a write that made something new.
func Created() *TextAnswer { return &TextAnswer{Status: http.StatusCreated, Body: "OK"} }

// CreatedOrOK is Created if the write made something new, and else OK.
func CreatedOrOK(created bool) *TextAnswer {
	if created {
		return Created()
	}
	return OK()
}
