// Package otlp sends spans to a collector, in the JSON form of the OpenTelemetry
// protocol over HTTP (https://opentelemetry.io/docs/specs/otlp/#otlphttp). The
// official SDK is not used: it begins and ends spans while they last and keeps them
// until then, and what is sent here is read off a log when it is over. What remains
// is one form of one message, which is in this file.
package otlp

import (
	"encoding/hex"
	"encoding/json"
	"strconv"

	"nod/trace"
)

// Resource says whose spans they are.
type Resource struct{ Version string }

// The message, as
// https://github.com/open-telemetry/opentelemetry-proto/blob/main/opentelemetry/proto/trace/v1/trace.proto
// has it: ids in hex, and 64-bit numbers as text.
type (
	request struct {
		ResourceSpans []resourceSpans `json:"resourceSpans"`
	}
	resourceSpans struct {
		Resource   attributes   `json:"resource"`
		ScopeSpans []scopeSpans `json:"scopeSpans"`
		SchemaURL  string       `json:"schemaUrl"`
	}
	attributes struct {
		Attributes []attribute `json:"attributes"`
	}
	scopeSpans struct {
		Scope     scope  `json:"scope"`
		Spans     []span `json:"spans"`
		SchemaURL string `json:"schemaUrl"`
	}
	scope struct {
		Name    string `json:"name"`
		Version string `json:"version,omitempty"`
	}
	span struct {
		TraceID    string      `json:"traceId"`
		SpanID     string      `json:"spanId"`
		Parent     string      `json:"parentSpanId,omitempty"`
		Flags      int         `json:"flags"`
		Name       string      `json:"name"`
		Kind       trace.Kind  `json:"kind"`
		Start      string      `json:"startTimeUnixNano"`
		End        string      `json:"endTimeUnixNano"`
		Attributes []attribute `json:"attributes"`
		Status     *status     `json:"status,omitempty"`
	}
	status struct {
		Code    int    `json:"code"`
		Message string `json:"message,omitempty"`
	}
	attribute struct {
		Key   string `json:"key"`
		Value value  `json:"value"`
	}
	value struct {
		String *string `json:"stringValue,omitempty"`
		Int    *string `json:"intValue,omitempty"`
		Bool   *bool   `json:"boolValue,omitempty"`
	}
)

const (
	sampled   = 1 // of the W3C's trace flags
	codeError = 2
)

// Encode writes spans as one request, without a line end in it.
func Encode(r Resource, spans []trace.Span) []byte {
	out := scopeSpans{Scope: scope{Name: "nod", Version: r.Version}, SchemaURL: trace.Schema, Spans: make([]span, 0, len(spans))}
	for _, s := range spans {
		out.Spans = append(out.Spans, encode(s))
	}
	raw, err := json.Marshal(request{[]resourceSpans{{
		Resource:   attributes{encodeAttrs([]trace.Attr{{Key: "service.name", Value: "nod"}, {Key: "service.version", Value: r.Version}})},
		ScopeSpans: []scopeSpans{out},
		SchemaURL:  trace.Schema,
	}}})
	if err != nil {
		panic(err) // these types can all be written
	}
	return raw
}

func encode(s trace.Span) span {
	out := span{
		TraceID: hex.EncodeToString(s.Trace[:]), SpanID: hex.EncodeToString(s.ID[:]), Flags: sampled, Name: s.Name, Kind: s.Kind,
		Start: strconv.FormatInt(s.Start.UnixNano(), 10), End: strconv.FormatInt(s.End.UnixNano(), 10), Attributes: encodeAttrs(s.Attrs),
	}
	if s.Parent != [8]byte{} {
		out.Parent = hex.EncodeToString(s.Parent[:])
	}
	if s.Error != "" {
		out.Status = &status{Code: codeError, Message: s.Error}
		out.Attributes = append(out.Attributes, encodeAttrs([]trace.Attr{{Key: trace.ErrorType, Value: s.Error}})...)
	}
	return out
}

func encodeAttrs(attrs []trace.Attr) []attribute {
	out := make([]attribute, 0, len(attrs)+1)
	for _, a := range attrs {
		var v value
		switch x := a.Value.(type) {
		case string:
			v.String = &x
		case int64:
			text := strconv.FormatInt(x, 10)
			v.Int = &text
		case bool:
			v.Bool = &x
		}
		out = append(out, attribute{a.Key, v})
	}
	return out
}
