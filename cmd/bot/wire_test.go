package main

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
)

// Calls that are made at a time use the connections of those before them: a
// connection that is dialled anew costs more than the call.
func TestPlatformCallsKeepConnections(t *testing.T) {
	t.Parallel()
	const atOnce = 32
	var dialled atomic.Int32
	var arrived sync.WaitGroup // no call is answered before all are made
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		arrived.Done()
		arrived.Wait()
		_, _ = io.WriteString(w, "{}")
	}))
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			dialled.Add(1)
		}
	}
	s.Start()
	t.Cleanup(s.Close)
	c := pooled()
	t.Cleanup(c.CloseIdleConnections)
	for range 3 {
		arrived.Add(atOnce)
		var calls sync.WaitGroup
		for range atOnce {
			calls.Go(func() {
				resp, err := c.Get(s.URL)
				if err != nil {
					t.Error(err)
					return
				}
				defer func() { _ = resp.Body.Close() }()
				if _, err := io.ReadAll(resp.Body); err != nil {
					t.Error(err)
				}
			})
		}
		calls.Wait()
	}
	if n := dialled.Load(); n != atOnce {
		t.Errorf("%d connections for %d calls at a time", n, atOnce)
	}
}
