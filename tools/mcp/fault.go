package mcp

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// fault remembers what really went wrong with a connection, since the SDK turns
// some causes into text on their way.
type fault struct {
	mu  sync.Mutex
	err error
	at  time.Time
}

func (f *fault) note(err error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.err, f.at = err, time.Now()
	return err
}

// since gives the cause, if there was one from then on.
func (f *fault) since(then time.Time) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.at.Before(then) {
		return nil
	}
	return f.err
}

var (
	errSlow    = ours("it did not answer in time")
	errClosing = ours("this program is ending")
	errEnded   = ours("it ended")
	// errProtocol is the answer of something else than a server of tools.
	errProtocol = ours("what it answers is not the protocol")
)

// why says in our own words what kept a server from being used. The errors of
// the SDK and of net/http hold addresses, which may be secret, and what the
// server wrote; none of that is passed on.
func why(err error) error {
	var own *trouble
	var dns *net.DNSError
	var cert *tls.CertificateVerificationError
	var op *net.OpError
	var answer *jsonrpc.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &own):
		return own
	case errors.As(err, &dns):
		return ours("its host is not found")
	case errors.As(err, &cert):
		return ours("its certificate is not valid")
	case errors.As(err, &op) && op.Op == "dial":
		return ours("it can't be reached (%v)", op.Err)
	case errors.Is(err, context.DeadlineExceeded):
		return errSlow
	case errors.As(err, &answer) && answer.Code != codeRejected:
		return ours("it answers with an error of the protocol (code %d)", answer.Code)
	case errors.As(err, &answer), errors.Is(err, io.EOF), errors.Is(err, sdk.ErrSessionMissing), errors.Is(err, sdk.ErrConnectionClosed):
		return ours("the connection broke off")
	}
	return errProtocol
}

// unsent says that a call can't have reached the server, so that it may be tried
// again.
func unsent(err error) bool {
	var op *net.OpError
	return errors.Is(err, sdk.ErrSessionMissing) || errors.As(err, &op) && op.Op == "dial"
}
