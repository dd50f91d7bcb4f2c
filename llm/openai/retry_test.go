package openai

import (
	"context"
	"crypto/tls"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"nod/llm"
)

func TestRetry(t *testing.T) {
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	after := func(kv ...string) http.Header {
		h := http.Header{}
		for i := 0; i < len(kv); i += 2 {
			h.Set(kv[i], kv[i+1])
		}
		return h
	}
	quota := `{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","code":"insufficient_quota"}}`
	ms := time.Millisecond
	ok := served{body: good}
	tests := []struct {
		name  string
		serve []served
		waits []time.Duration
		want  *llm.Error // nil: the answer
	}{
		{"429, then an answer", []served{{status: 429, body: `{"error":{"message":"slow down"}}`}, ok}, []time.Duration{250 * ms}, nil},
		{"5xx and no connection", []served{{status: 500}, {err: errors.New("refused")}, {status: 503}, ok}, []time.Duration{250 * ms, 500 * ms, 1000 * ms}, nil},
		{"408", []served{{status: 408}, ok}, []time.Duration{250 * ms}, nil},
		{"seconds", []served{{status: 429, header: after("Retry-After", "7")}, ok}, []time.Duration{7 * time.Second}, nil},
		{"milliseconds come first", []served{{status: 429, header: after("Retry-After", "7", "Retry-After-Ms", "1500")}, ok}, []time.Duration{1500 * ms}, nil},
		{"a date", []served{{status: 503, header: after("Retry-After", now.Add(9*time.Second).Format(http.TimeFormat))}, ok}, []time.Duration{9 * time.Second}, nil},
		{"a date that has passed", []served{{status: 503, header: after("Retry-After", now.Add(-time.Hour).Format(http.TimeFormat))}, ok}, []time.Duration{250 * ms}, nil},
		{"nonsense", []served{{status: 503, header: after("Retry-After", "soon")}, ok}, []time.Duration{250 * ms}, nil},
		{
			"far longer than the call may take",
			[]served{{status: 429, header: after("Retry-After", "3600"), body: `{"error":"slow down"}`}},
			nil,
			&llm.Error{Fault: llm.Overloaded, Status: 429, Message: "slow down", RetryAfter: time.Hour},
		},
		{
			"longer than the call may take",
			[]served{{status: 429, header: after("Retry-After", "31"), body: `{"error":"slow down"}`}},
			nil,
			&llm.Error{Fault: llm.Overloaded, Status: 429, Message: "slow down", RetryAfter: 31 * time.Second},
		},
		{"retries are used up", []served{{status: 429, body: `{"error":"slow down"}`}}, []time.Duration{250 * ms, 500 * ms, 1000 * ms}, &llm.Error{Fault: llm.Overloaded, Status: 429, Message: "slow down"}},
		{"never a connection", []served{{err: errors.New("connection refused")}}, []time.Duration{250 * ms, 500 * ms, 1000 * ms}, &llm.Error{Fault: llm.Unreachable, Message: "connection refused"}},
		{
			"a proxy's page",
			[]served{{status: 502, body: "<!DOCTYPE html><html><title>502 Bad\nGateway</title><body>" + string(make([]byte, 5000))}},
			[]time.Duration{250 * ms, 500 * ms, 1000 * ms},
			&llm.Error{Fault: llm.Unreachable, Status: 502, Message: "an HTML page: 502 Bad Gateway"},
		},
		{"no quota", []served{{status: 429, body: quota}}, nil, &llm.Error{Fault: llm.Refused, Status: 429, Message: "You exceeded your current quota"}},
		{
			"too large for the rate",
			[]served{{status: 429, body: `{"error":{"message":"Request too large for m on tokens per min (TPM)","code":"rate_limit_exceeded"}}`}},
			nil,
			&llm.Error{Fault: llm.TooLong, Status: 429, Message: "Request too large for m on tokens per min (TPM)"},
		},
		{"4xx", []served{{status: 400, body: `{"error":{"message":"no"}}`}}, nil, &llm.Error{Fault: llm.Refused, Status: 400, Message: "no"}},
		{"501", []served{{status: 501}}, nil, &llm.Error{Fault: llm.Unreachable, Status: 501, Message: "501 Not Implemented"}},
		{"not to be trusted", []served{{err: &tls.CertificateVerificationError{Err: errors.New("expired")}}}, nil, &llm.Error{Fault: llm.Unreachable, Message: "tls: failed to verify certificate: expired"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := &script{serve: tt.serve}
			m, waits := s.model(func(o *Options) {
				o.Now = func() time.Time { return now }
			})
			r, err := m.Complete(deadline{t.Context(), now.Add(30 * time.Second)}, hi, nil)
			if diff := cmp.Diff(tt.waits, *waits); diff != "" {
				t.Errorf("waits (-want +got):\n%s", diff)
			}
			if tt.want == nil {
				if err != nil || r.Text != "ok" {
					t.Fatalf("response %+v, error %v", r, err)
				}
				for _, a := range s.asked {
					if a.raw != s.asked[0].raw {
						t.Errorf("a retry sent %q", a.raw)
					}
				}
				return
			}
			got := fault(t, err)
			got.Code = "" // see TestCode
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
		})
	}
}

// TestPatience has a call that may take as long as it likes, and a server that
// asks for too much all the same.
func TestPatience(t *testing.T) {
	s := &script{serve: []served{{status: 429, header: http.Header{"Retry-After": {"3600"}}}}}
	m, waits := s.model(nil)
	_, err := m.Complete(t.Context(), hi, nil)
	if e := fault(t, err); len(*waits) > 0 || e.RetryAfter != time.Hour {
		t.Errorf("waited %v, error %+v", *waits, *e)
	}
}

// deadline is a context with a deadline of an injected clock.
type deadline struct {
	context.Context
	at time.Time
}

func (d deadline) Deadline() (time.Time, bool) { return d.at, true }

func TestBackoff(t *testing.T) {
	for n, want := range []time.Duration{500, 1000, 2000, 4000, 8000, 8000} {
		want *= time.Millisecond
		least, most := backoff(n, func() float64 { return 0 }), backoff(n, func() float64 { return 0.999999999 })
		if least != want/2 || most < want-time.Millisecond || most > want {
			t.Errorf("backoff %d: from %v to %v, want from %v to %v", n, least, most, want/2, want)
		}
	}
	if d := backoff(1<<40, func() float64 { return 0 }); d != longestWait/2 {
		t.Errorf("backoff of very many: %v", d)
	}
}

// stuck never answers, or stops answering in the middle.
type stuck struct{ body string }

func (s stuck) RoundTrip(req *http.Request) (*http.Response, error) {
	if s.body == "" {
		<-req.Context().Done()
		return nil, req.Context().Err()
	}
	sc := &script{serve: []served{{body: s.body, tail: context.DeadlineExceeded}}}
	resp, err := sc.RoundTrip(req)
	if err == nil {
		resp.Body = &waiting{resp.Body, req.Context()}
	}
	return resp, err
}

type waiting struct {
	body interface {
		Read([]byte) (int, error)
		Close() error
	}
	ctx context.Context
}

func (w *waiting) Read(p []byte) (int, error) {
	n, err := w.body.Read(p)
	if err != nil {
		<-w.ctx.Done()
		err = w.ctx.Err()
	}
	return n, err
}

func (w *waiting) Close() error { return w.body.Close() }

// TestTimeout runs in a bubble: the time that passes is not real.
func TestTimeout(t *testing.T) {
	tests := []struct {
		name string
		http http.RoundTripper
		took time.Duration
		text string
	}{
		{"responses, not after the end", stuck{sse(completed(outText))}, drainFor, "ok"},
		{"no answer", stuck{}, 10 * time.Second, ""},
		{"half an answer", stuck{sse(delta(`{"content":"o"}`))}, 10 * time.Second, ""},
		{"refusals until then", &script{serve: []served{{status: 503, header: http.Header{"Retry-After": {"4"}}}}}, 8 * time.Second, ""},
		{"the answer is over, the stream is not", stuck{sse(delta(`{"content":"ok"}`), stop)}, tailFor, "ok"},
		{"nor after its end", stuck{sse(delta(`{"content":"ok"}`), stop, done)}, drainFor, "ok"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := New(Options{BaseURL: "http://model.test", Model: "m", HTTP: tt.http, Stream: true, Timeout: 10 * time.Second, Jitter: func() float64 { return 0 }})
				if strings.HasPrefix(tt.name, "responses") {
					m.known = needsResponses
				}
				start := time.Now()
				r, err := m.Complete(t.Context(), hi, nil)
				if took := time.Since(start); took != tt.took {
					t.Errorf("took %v, want %v", took, tt.took)
				}
				if tt.text != "" {
					if err != nil || r.Text != tt.text {
						t.Errorf("response %+v, error %v", r, err)
					}
					return
				}
				if e := fault(t, err); e.Fault != llm.Timeout && e.Status != 503 {
					t.Errorf("error %+v", e)
				}
			})
		})
	}
}

// TestSpared has a model that another one stands in for: it is tried twice, and a second
// time only soon. That holds for each phase, and at each byte of a stream.
func TestSpared(t *testing.T) {
	whole := sse(`{"choices":[{"delta":{"content":"ok"}}]}`, `{"choices":[{"delta":{},"finish_reason":"stop"}]}`, "[DONE]")
	tests := map[string][]served{
		"no connection": {{err: errors.New("refused")}},
		"503":           {{status: 503}},
		"429":           {{status: 429}},
		"both phases":   {{status: 503}, {body: whole[:9], tail: errors.New("reset")}},
		"a later one":   {{body: whole[:9], tail: errors.New("reset")}, {status: 503}},
	}
	for n := range len(whole) {
		tests[whole[:n]] = []served{{body: whole[:n], tail: errors.New("reset")}}
	}
	for name, serve := range tests {
		s := &script{serve: serve}
		m, _ := s.model(func(o *Options) { o.Spared, o.Stream = true, true })
		shown := ""
		r, err := m.Complete(t.Context(), hi, func(d llm.Delta) {
			if d.Reset {
				shown = ""
			}
			shown += d.Text
		})
		var fault *llm.Error
		switch {
		case err == nil && r.Text == "ok" && shown == "ok" && len(s.asked) == 1:
		case errors.As(err, &fault) && (fault.Fault == llm.Unreachable || fault.Fault == llm.Overloaded) && len(s.asked) == 2:
		default:
			t.Errorf("%q: %+v, %v, shown %q after %d tries", name, r, err, shown, len(s.asked))
		}
	}
	late := &script{serve: []served{{status: 503, header: http.Header{"Retry-After": {"11"}}}}}
	m, waits := late.model(func(o *Options) { o.Spared = true })
	if _, err := m.Complete(t.Context(), hi, nil); err == nil || len(late.asked) != 1 || len(*waits) > 0 {
		t.Errorf("a server that asks for 11 s was tried %d times, after %v", len(late.asked), *waits)
	}
}
