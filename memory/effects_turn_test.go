package memory

import "testing"

// The key of a post names the entry that opened its turn, where it is of a turn.
func TestTurnOf(t *testing.T) {
	t.Parallel()
	for key, want := range map[string]uint64{
		"answer/12-3ff591530f~aa": 12, "steps/7~b": 7, "answer/28-2-1-5a9d6fd0ac!1~c": 28, "ask/28-2-1-5a9d6fd0ac~c": 0,
		"stopped/12-3ff591530f~aa": 0, "restored/9~a": 0, "answer/x~1": 0, "ask": 0, "": 0, "steps/99999999999999999999": 0,
	} {
		if got, ok := TurnOf(key); got != want || ok != (want > 0) {
			t.Errorf("%q: %d, %v", key, got, ok)
		}
	}
}
