package otlp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"nod/trace"
)

// Options set up a [Sender].
type Options struct {
	URL      string            // of the collector; /v1/traces is added
	Headers  map[string]string // sent with every request
	Resource Resource
	Client   *http.Client // nil: one that waits ten seconds
	Logger   *slog.Logger
	// Sent and Lost hear of how many spans the collector took, and of how many
	// were given up. They may be nil.
	Sent, Lost func(spans int)
}

// Sender sends spans to a collector beside everything else. Its callers never wait.
// While the collector is away it keeps a limited number of batches. Dropped ones can be
// sent from the log again.
type Sender struct {
	o     Options
	queue chan []trace.Span
	waits atomic.Int64 // spans
}

// Limits of waiting spans, and of one request.
const (
	mostBatches = 1000
	mostSpans   = 500
	tries       = 6
	longest     = 10 * time.Second
	firstPause  = 500 * time.Millisecond // each is twice the one before
)

// New makes a sender; [Sender.Run] has it send.
func New(o Options) *Sender {
	if o.Client == nil {
		o.Client = &http.Client{
			Timeout: longest,
			// It would take the headers along, to wherever the answer says; and a page to sign
			// in at would count as a collector that took the spans.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		}
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	for _, f := range []*func(int){&o.Sent, &o.Lost} {
		if *f == nil {
			*f = func(int) {}
		}
	}
	o.URL = strings.TrimRight(o.URL, "/") + "/v1/traces"
	return &Sender{o: o, queue: make(chan []trace.Span, mostBatches)}
}

// Put has spans sent some time. It never waits.
func (s *Sender) Put(spans []trace.Span) {
	if len(spans) == 0 {
		return
	}
	s.waits.Add(int64(len(spans)))
	select {
	case s.queue <- spans:
	default:
		s.waits.Add(-int64(len(spans)))
		s.o.Lost(len(spans))
	}
}

// Idle says whether all was sent, or given up.
func (s *Sender) Idle() bool { return s.waits.Load() == 0 }

// Run sends until ctx is done, and then the rest, for a moment.
func (s *Sender) Run(ctx context.Context) error {
	lasting, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(longest/2, cancel) })()
	for {
		var spans []trace.Span
		select {
		case spans = <-s.queue:
		case <-ctx.Done():
			select {
			case spans = <-s.queue:
			default:
				return nil
			}
		}
		spans = s.more(spans)
		s.settle(spans, s.Deliver(lasting, spans))
	}
}

// settle notes the outcome of spans.
func (s *Sender) settle(spans []trace.Span, err error) {
	s.waits.Add(-int64(len(spans)))
	if err != nil {
		s.o.Lost(len(spans))
		s.o.Logger.Warn("spans were not taken; bot export traces sends them again", "spans", len(spans), "error", err)
		return
	}
	s.o.Sent(len(spans))
}

// more adds waiting spans, up to a full request.
func (s *Sender) more(spans []trace.Span) []trace.Span {
	spans = append([]trace.Span(nil), spans...)
	for len(spans) < mostSpans {
		select {
		case next := <-s.queue:
			spans = append(spans, next...)
		default:
			return spans
		}
	}
	return spans
}

// Deliver sends spans, again and again for a while.
func (s *Sender) Deliver(ctx context.Context, spans []trace.Span) error {
	pause := firstPause
	for n := 1; ; n++ {
		again, err := s.send(ctx, spans)
		if err == nil || n == tries || errors.Is(err, errRefused) || ctx.Err() != nil {
			return err
		}
		if again == 0 {
			again, pause = pause, 2*pause
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(again):
		}
	}
}

// errRefused says that sending again is of no use.
var errRefused = errors.New("refused")

// Try asks the collector once to take a request without any span, which collectors say
// yes to (https://opentelemetry.io/docs/specs/otlp/#full-success-1).
func (s *Sender) Try(ctx context.Context) error {
	_, err := s.post(ctx, []byte("{}"))
	return err
}

// send sends spans once. again is how long the collector asks to wait, if it does.
func (s *Sender) send(ctx context.Context, spans []trace.Span) (again time.Duration, err error) {
	return s.post(ctx, Encode(s.o.Resource, spans))
}

func (s *Sender) post(ctx context.Context, body []byte) (again time.Duration, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.o.URL, bytes.NewReader(body))
	if err != nil {
		return 0, fmt.Errorf("send spans: %w", err)
	}
	req.Header.Set("Content-Type", "application/json")
	for name, value := range s.o.Headers {
		req.Header.Set(name, value)
	}
	resp, err := s.o.Client.Do(req)
	if err != nil {
		return 0, fmt.Errorf("send spans: %w", err)
	}
	defer func() { _ = resp.Body.Close() }()
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 64<<10)) // so that the connection can be used again
	switch resp.StatusCode {
	case http.StatusOK, http.StatusAccepted, http.StatusNoContent:
		return 0, nil
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		if n, convErr := strconv.Atoi(resp.Header.Get("Retry-After")); convErr == nil && n > 0 {
			again = min(time.Duration(n)*time.Second, time.Minute)
		}
		return again, fmt.Errorf("send spans: status %d", resp.StatusCode)
	}
	return 0, fmt.Errorf("send spans: %w: status %d", errRefused, resp.StatusCode)
}
