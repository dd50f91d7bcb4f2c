package slack

import (
	"encoding/json"
	"reflect"
	"testing"

	jsonv1 "github.com/go-json-experiment/json/v1"
)

// What is read of an event is what encoding/json reads, in half of the time.
func FuzzEventJSON(f *testing.F) {
	f.Add([]byte(`{"type":"message","channel":"C1","user":"U1","text":"hi \ud800 \u0000","ts":"1.2","message":{"text":"x","blocks":[{"type":"a"}]},"reactions":null,"hidden":true,"files":[1,2],"Type":"b","type":3}`))
	f.Add([]byte(`{"type":5,"channel":{},"text":"ok"}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		var a, b event
		ea, eb := json.Unmarshal(raw, &a), jsonv1.Unmarshal(raw, &b)
		if (ea == nil) != (eb == nil) {
			t.Fatalf("%v | %v", ea, eb)
		}
		if ea == nil && !reflect.DeepEqual(a, b) {
			t.Fatalf("%+v | %+v", a, b)
		}
	})
}
