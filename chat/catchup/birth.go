package catchup

import (
	"context"
	"encoding/json"
	"fmt"
	"time"
)

// NoteBirth is the name under which a store keeps its [Birth]. A copied store keeps the
// birth of the first one.
const NoteBirth = "birth"

// Birth is from when on a store knows all that was done. A store that is new, or came back
// older, can't know which earlier messages another one answered, so no look puts them.
type Birth struct {
	At time.Time `json:"at"` // the store was made then, or was noticed to be older
	// Copy is when the older store was copied, as far as that is known; zero for a new one.
	Copy time.Time `json:"copy,omitzero"`
}

// Born reads the birth of a store; zero where it has none.
func Born(ctx context.Context, notes Notes) (b Birth, err error) {
	raw, err := notes.Noted(ctx, NoteBirth)
	if err == nil && len(raw) > 0 {
		err = json.Unmarshal(raw, &b)
	}
	if err != nil {
		return b, fmt.Errorf("read when the store was made: %w", err)
	}
	return b, nil
}

// Bear notes a birth.
func (b Birth) Bear(ctx context.Context, notes Notes) error {
	raw, err := json.Marshal(b)
	if err == nil {
		err = notes.Note(ctx, NoteBirth, raw)
	}
	if err != nil {
		return fmt.Errorf("note when the store was made: %w", err)
	}
	return nil
}
