package openai

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"nod/llm"
)

// tap is a server whose bodies a test makes for each request.
type tap func(ctx context.Context) io.Reader

func (f tap) RoundTrip(req *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(f(req.Context())), Request: req}, nil
}

// TestKeptAlive has a server that says for ever that it is alive: behind a whole
// answer it is not heard for long, and before its end until the timeout.
func TestKeptAlive(t *testing.T) {
	t.Parallel()
	ok := sse(delta(`{"content":"ok"}`))
	for body, want := range map[string]string{ok + sse(stop): "ok in 3s", ok: "timeout in 1m0s", "": "timeout in 1m0s"} {
		synctest.Test(t, func(t *testing.T) {
			m, _ := (&script{}).model(func(o *Options) {
				o.Timeout = time.Minute
				o.HTTP = tap(func(ctx context.Context) io.Reader {
					return io.MultiReader(strings.NewReader(body), readerFunc(func(p []byte) (int, error) {
						select {
						case <-time.After(time.Second):
							return copy(p, ": alive\n\n"), nil
						case <-ctx.Done():
							return 0, ctx.Err()
						}
					}))
				})
			})
			start := time.Now()
			r, err := m.Complete(t.Context(), hi, nil)
			got := r.Text
			if err != nil {
				got = string(fault(t, err).Fault)
			}
			if got += " in " + time.Since(start).Round(3*time.Second).String(); got != want {
				t.Errorf("%q: %s, want %s", body, got, want)
			}
		})
	}
}

// TestByteByByte reads every recorded stream a byte at a time.
func TestByteByByte(t *testing.T) {
	for i, rec := range recordings(t) {
		if !rec.SSE || rec.Status != http.StatusOK {
			continue
		}
		var answers [2]llm.Response
		for k, wrap := range []func(io.Reader) io.Reader{func(r io.Reader) io.Reader { return r }, iotest.OneByteReader} {
			m, _ := (&script{}).model(func(o *Options) {
				o.HTTP = tap(func(context.Context) io.Reader { return wrap(strings.NewReader(rec.Body)) })
			})
			answers[k], _ = m.Complete(t.Context(), hi, nil)
		}
		if answers[0].Text != answers[1].Text || answers[0].Reasoning != answers[1].Reasoning || len(answers[0].Calls) != len(answers[1].Calls) {
			t.Errorf("recording %d, %s: %+v, byte by byte %+v", i, rec.Src, answers[0], answers[1])
		}
	}
}
