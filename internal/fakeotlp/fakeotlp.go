// Package fakeotlp is a collector of OpenTelemetry for tests. It takes what the
// protocol says (https://opentelemetry.io/docs/specs/otlp/#otlphttp) and refuses
// everything else: unknown fields, ids that are no ids, numbers that are not written
// as text, spans that end before they begin.
package fakeotlp

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"reflect"
	"regexp"
	"strconv"
	"sync"
	"testing"
)

// Span is a span as it came.
type Span struct {
	TraceID    string      `json:"traceId"`
	SpanID     string      `json:"spanId"`
	Parent     string      `json:"parentSpanId"`
	Flags      int         `json:"flags"`
	Name       string      `json:"name"`
	Kind       int         `json:"kind"`
	Start      string      `json:"startTimeUnixNano"`
	End        string      `json:"endTimeUnixNano"`
	Attributes []Attribute `json:"attributes"`
	Status     Status      `json:"status"`
}

// Status is how a span ended.
type Status struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

// Attribute is one of a span's, with exactly one value.
type Attribute struct {
	Key   string `json:"key"`
	Value struct {
		String *string `json:"stringValue"`
		Int    *string `json:"intValue"`
		Bool   *bool   `json:"boolValue"`
		Array  *struct {
			Values []struct {
				String string `json:"stringValue"`
			} `json:"values"`
		} `json:"arrayValue"`
	} `json:"value"`
}

// Attr gives the text of an attribute; empty where there is none.
func (s Span) Attr(key string) string {
	for _, a := range s.Attributes {
		switch {
		case a.Key != key:
		case a.Value.String != nil:
			return *a.Value.String
		case a.Value.Int != nil:
			return *a.Value.Int
		case a.Value.Array != nil && len(a.Value.Array.Values) > 0:
			return a.Value.Array.Values[0].String
		}
	}
	return ""
}

// Message is one request.
type Message struct {
	ResourceSpans []struct {
		Resource struct {
			Attributes []Attribute `json:"attributes"`
		} `json:"resource"`
		ScopeSpans []struct {
			Scope struct {
				Name    string `json:"name"`
				Version string `json:"version"`
			} `json:"scope"`
			Spans     []Span `json:"spans"`
			SchemaURL string `json:"schemaUrl"`
		} `json:"scopeSpans"`
		SchemaURL string `json:"schemaUrl"`
	} `json:"resourceSpans"`
}

// Collector is the server.
type Collector struct {
	URL string

	mu     sync.Mutex
	spans  []Span
	faults []string
	answer func(n int) int
	n      int
	header http.Header
}

// Start starts a collector. answer gives the status of the n-th request, from 1 on; nil
// is always 200. It keeps only requests that get 200.
func Start(t testing.TB, answer func(n int) int) *Collector {
	t.Helper()
	c := &Collector{answer: answer}
	srv := httptest.NewServer(http.HandlerFunc(c.serve))
	c.URL = srv.URL
	t.Cleanup(func() {
		srv.Close()
		for _, f := range c.faults {
			t.Errorf("the collector complains: %s", f)
		}
	})
	return c
}

func (c *Collector) serve(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n++
	c.header = r.Header.Clone()
	status := http.StatusOK
	if c.answer != nil {
		status = c.answer(c.n)
	}
	if r.Method != http.MethodPost || r.URL.Path != "/v1/traces" || r.Header.Get("Content-Type") != "application/json" {
		c.fault("%s %s with %q", r.Method, r.URL.Path, r.Header.Get("Content-Type"))
		status = http.StatusBadRequest
	}
	var m Message
	d := json.NewDecoder(r.Body)
	d.DisallowUnknownFields()
	if err := d.Decode(&m); err != nil {
		c.fault("read a request: %v", err)
		status = http.StatusBadRequest
	}
	if status == http.StatusOK {
		for _, s := range Spans(m) {
			if why := wrong(s); why != "" {
				c.fault("span %q: %s", s.Name, why)
			}
			c.spans = append(c.spans, s)
		}
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write([]byte("{}"))
}

func (c *Collector) fault(format string, args ...any) {
	c.faults = append(c.faults, fmt.Sprintf(format, args...))
}

// Spans lists the spans of a request.
func Spans(m Message) []Span {
	var out []Span
	for _, r := range m.ResourceSpans {
		for _, s := range r.ScopeSpans {
			out = append(out, s.Spans...)
		}
	}
	return out
}

var (
	traceID = regexp.MustCompile(`^[0-9a-f]{32}$`)
	spanID  = regexp.MustCompile(`^[0-9a-f]{16}$`)
)

// wrong says what is wrong with a span.
func wrong(s Span) string {
	start, err1 := strconv.ParseInt(s.Start, 10, 64)
	end, err2 := strconv.ParseInt(s.End, 10, 64)
	switch {
	case !traceID.MatchString(s.TraceID), !spanID.MatchString(s.SpanID), s.Parent != "" && !spanID.MatchString(s.Parent):
		return "an id is none"
	case err1 != nil, err2 != nil, start <= 0, end < start:
		return "it ends before it begins"
	case s.Name == "", s.Kind < 1, s.Kind > 5, s.Status.Code < 0, s.Status.Code > 2:
		return "it has no name, kind or status"
	}
	for _, a := range s.Attributes {
		n := 0
		for _, there := range []bool{a.Value.String != nil, a.Value.Int != nil, a.Value.Bool != nil, a.Value.Array != nil} {
			if there {
				n++
			}
		}
		if a.Key == "" || n != 1 {
			return "the attribute " + a.Key + " has not one value"
		}
	}
	return ""
}

// Spans are all that were taken, each once; a second one with the same id and
// other data is a fault.
func (c *Collector) Spans() []Span {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []Span
	byID := map[string]Span{}
	for _, s := range c.spans {
		first, again := byID[s.SpanID]
		if again && !reflect.DeepEqual(first, s) {
			c.fault("span %s came twice with other data:\n%+v\n%+v", s.SpanID, first, s)
		}
		if !again {
			byID[s.SpanID] = s
			out = append(out, s)
		}
	}
	return out
}

// Requests is how many came, whatever was answered.
func (c *Collector) Requests() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.n
}

// Header gives a header of the last request.
func (c *Collector) Header(name string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.header.Get(name)
}
