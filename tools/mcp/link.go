package mcp

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// link is a session with its transport.
type link struct {
	session *sdk.ClientSession
	child   *child // nil over HTTP
	web     *web
	s       *server
}

// dial connects and shakes hands.
func (s *server) dial(ctx context.Context) (*link, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, s.pace.attempt, errSlow)
	defer cancel()
	begun := time.Now()
	l := &link{web: s.web, s: s}
	var transport sdk.Transport
	if s.web != nil {
		transport = s.web.transport(s.pace.bytes)
	} else {
		c, err := startChild(s)
		if err != nil {
			return nil, err
		}
		transport, l.child = c, c
	}
	client := sdk.NewClient(&sdk.Implementation{Name: "nod", Version: s.version}, s.options())
	if err := knowTasks(client); err != nil {
		return nil, err
	}
	var how *sdk.ClientSessionOptions
	if s.old {
		how = &sdk.ClientSessionOptions{ProtocolVersion: "2025-11-25"}
	}
	session, err := client.Connect(ctx, transport, how)
	if err != nil {
		// A server that leaves the first question of the newer handshake without
		// an answer, instead of refusing it, gets the older one next time.
		s.old = !s.old && errors.Is(err, context.DeadlineExceeded)
		err = l.cause(err, begun)
		l.end()
		return nil, err
	}
	l.session = session
	return l, nil
}

// options are those of the client's side.
func (s *server) options() *sdk.ClientOptions {
	return &sdk.ClientOptions{
		Capabilities:       &sdk.ClientCapabilities{Extensions: map[string]any{tasksExtension: map[string]any{}}}, // no roots; and no handler, so no sampling
		MultiRoundTrip:     &sdk.MultiRoundTripOptions{Disabled: true},                                            // see rounds
		ElicitationHandler: s.elicit,
		Logger:             slog.New(slog.DiscardHandler), // it would log what servers write

		ToolListChangedHandler: func(context.Context, *sdk.ToolListChangedRequest) { nudge(s.relist) },
	}
}

// end closes the session and ends the program.
func (l *link) end() {
	if l.child != nil {
		l.child.stop() // first, so that nothing waits for an answer of it
		l.s.mu.Lock()
		l.s.stderr = string(l.child.stderr.Bytes())
		l.s.mu.Unlock()
		l.s.log.Debug("the program of an mcp server was ended", "server", l.s.Name, "stderr_bytes", l.child.stderr.Size())
	}
	if l.session != nil {
		_ = l.session.Close()
	}
	if l.web != nil {
		l.web.next.CloseIdleConnections()
	}
}

// cause finds the real cause of a connection's end.
func (l *link) cause(err error, since time.Time) error {
	if noted := l.s.fault.since(since); noted != nil {
		return noted
	}
	if strings.Contains(err.Error(), "unsupported protocol version") { // the SDK's type is its own
		return ours("it speaks a version of the protocol that is not known here")
	}
	if l.child == nil || errors.Is(err, context.DeadlineExceeded) {
		return why(err)
	}
	select {
	case <-l.child.exited:
		return ours("its program ended (%s)", l.child.cmd.ProcessState)
	case <-time.After(l.s.pace.exit): // it may be about to
	}
	return why(err)
}
