// Package otlp sends spans to a collector, in the JSON form of the OpenTelemetry
// protocol over HTTP (https://opentelemetry.io/docs/specs/otlp/#otlphttp). The
// official SDK does not fit: it keeps spans in memory from begin to end, and these are
// read off a log afterwards. The rest is one form of one message, in this file.
package otlp

import (
	"encoding/hex"
	"encoding/json"
	"strconv"

	"nod/trace"
)

// Resource is the origin of the spans.
type Resource struct {
	Version  string
	Instance string // the process; "" where that is not known
}

func (r Resource) attributes() []object {
	out := []object{attribute("service.name", "nod"), attribute("service.version", r.Version)}
	if r.Instance != "" {
		out = append(out, attribute("service.instance.id", r.Instance))
	}
	return out
}

// An object of the message, as
// https://github.com/open-telemetry/opentelemetry-proto/blob/main/opentelemetry/proto/trace/v1/trace.proto
// has it: ids in hex, and 64-bit numbers as text.
type object map[string]any

const (
	sampled   = 1 // of the W3C's trace flags
	codeError = 2
)

// Encode writes spans as one request, without a line end in it.
func Encode(r Resource, spans []trace.Span) []byte {
	list := make([]object, 0, len(spans))
	for _, s := range spans {
		list = append(list, encode(s))
	}
	raw, err := json.Marshal(object{"resourceSpans": []object{{
		"resource":  object{"attributes": r.attributes()},
		"schemaUrl": trace.Schema,
		"scopeSpans": []object{{
			"scope": object{"name": "nod", "version": r.Version}, "schemaUrl": trace.Schema, "spans": list,
		}},
	}}})
	if err != nil {
		panic(err) // these types can all be written
	}
	return raw
}

func encode(s trace.Span) object {
	attrs := make([]object, 0, len(s.Attrs)+1)
	for _, a := range s.Attrs {
		attrs = append(attrs, attribute(a.Key, a.Value))
	}
	out := object{
		"traceId": hex.EncodeToString(s.Trace[:]), "spanId": hex.EncodeToString(s.ID[:]), "flags": sampled, "name": s.Name, "kind": s.Kind,
		"startTimeUnixNano": strconv.FormatInt(s.Start.UnixNano(), 10), "endTimeUnixNano": strconv.FormatInt(s.End.UnixNano(), 10),
	}
	if s.Parent != [8]byte{} {
		out["parentSpanId"] = hex.EncodeToString(s.Parent[:])
	}
	if s.Error != "" {
		out["status"] = object{"code": codeError, "message": s.Error}
		attrs = append(attrs, attribute(trace.ErrorType, s.Error))
	}
	out["attributes"] = attrs
	return out
}

// attribute is one of the kinds of value that a span's has.
func attribute(key string, v any) object {
	kind := "stringValue"
	switch x := v.(type) {
	case int64:
		kind, v = "intValue", strconv.FormatInt(x, 10)
	case bool:
		kind = "boolValue"
	case []string:
		values := []object{}
		for _, text := range x {
			values = append(values, object{"stringValue": text})
		}
		kind, v = "arrayValue", object{"values": values}
	}
	return object{"key": key, "value": object{kind: v}}
}
