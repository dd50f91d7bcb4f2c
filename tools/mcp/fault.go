package mcp

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// fault remembers the real cause of a broken connection, since the SDK turns some
// causes into text.
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

// line reads a line, where there is room for one. What sends more than most is at fault.
func (f *fault) line(r *bufio.Reader, room, most int) (line []byte, err error) {
	for {
		part, err := r.ReadSlice('\n')
		if len(line)+len(part) > room {
			return line, f.note(tooLong(most))
		}
		line = append(line, part...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

var (
	errSlow    = ours("it did not answer in time")
	errClosing = ours("this program is ending")
	errEnded   = ours("it ended")
	// errProtocol is the answer of something else than a server of tools.
	errProtocol = ours("what it answers is not the protocol")
)

// why names in our own words the reason why a server could not be used. Errors of the
// SDK and net/http hold addresses, which may be secret, and the server's words; none of
// that is passed on.
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
	case errors.Is(err, http.ErrSchemeMismatch):
		return ours("it speaks http there, not https; look at url")
	case errors.As(err, &answer) && answer.Code != codeRejected:
		return ours("it answers with an error of the protocol (code %d)", answer.Code)
	case errors.As(err, &answer), errors.Is(err, io.EOF), errors.Is(err, sdk.ErrSessionMissing), errors.Is(err, sdk.ErrConnectionClosed):
		return ours("the connection broke off")
	}
	return errProtocol
}
