package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"sync"
)

const (
	// headerSize is the size of a message header: length, two ids and opcode, four bytes each.
	headerSize = 16
	// maxMessage bounds the size of a message, in bytes, as MongoDB does.
	maxMessage = 48_000_000
	// opMsg is the opcode of messages that may get no answer.
	opMsg = 2013
	// moreToCome is the flag of an opMsg that gets no answer. The flags are the four bytes after the header.
	moreToCome = 1 << 1
)

// front is a proxy that passes one command at a time to the server. FerretDB's commands are not atomic, so concurrent
// ones would undo each other's updates or crash it.
type front struct {
	socket string // where the server listens
	logger *slog.Logger
	turn   sync.Mutex
}

// serve accepts connections until the context ends.
func (f *front) serve(ctx context.Context, listener net.Listener) error {
	defer context.AfterFunc(ctx, func() { listener.Close() })()
	for {
		client, err := listener.Accept()
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return fmt.Errorf("accept a connection: %w", err)
		}
		go func() {
			defer client.Close()
			if err := f.relay(client); err != nil {
				f.logger.Error("a connection broke", "error", err)
			}
		}()
	}
}

// relay passes the messages of one client to the server, and the answers back, until the client closes its connection.
func (f *front) relay(client net.Conn) error {
	server, err := net.Dial("unix", f.socket)
	if err != nil {
		return err
	}
	defer server.Close()
	for {
		message, err := readMessage(client)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read from the client: %w", err)
		}
		answer, err := f.exchange(server, message)
		if err != nil {
			return fmt.Errorf("ask the server: %w", err)
		}
		if _, err := client.Write(answer); err != nil {
			return fmt.Errorf("answer the client: %w", err)
		}
	}
}

func (f *front) exchange(server net.Conn, message []byte) ([]byte, error) {
	f.turn.Lock()
	defer f.turn.Unlock()
	if _, err := server.Write(message); err != nil {
		return nil, err
	}
	if !wantsAnswer(message) {
		return nil, nil
	}
	return readMessage(server)
}

func readMessage(from io.Reader) ([]byte, error) {
	var size [4]byte
	if _, err := io.ReadFull(from, size[:]); err != nil {
		return nil, err
	}
	length := binary.LittleEndian.Uint32(size[:])
	if length < headerSize || length > maxMessage {
		return nil, fmt.Errorf("a message of %d bytes", length)
	}
	message := make([]byte, length)
	copy(message, size[:])
	_, err := io.ReadFull(from, message[len(size):])
	return message, err
}

func wantsAnswer(message []byte) bool {
	if binary.LittleEndian.Uint32(message[12:]) != opMsg || len(message) < headerSize+4 {
		return true
	}
	return binary.LittleEndian.Uint32(message[headerSize:])&moreToCome == 0
}
