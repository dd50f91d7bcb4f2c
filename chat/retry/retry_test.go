package retry

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

var errFinal = errors.New("refused")

func policy(failed *int) Policy {
	return Policy{
		First: time.Second, Longest: 3 * time.Second,
		Final: func(err error) bool { return errors.Is(err, errFinal) }, Failed: func(error) { *failed++ },
	}
}

// The pauses double up to the longest, and an error for good ends them.
func TestDo(t *testing.T) {
	for _, tt := range []struct {
		name string
		last error
		took time.Duration
	}{{"succeeds", nil, 9 * time.Second}, {"is refused", errFinal, 9 * time.Second}} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began, tries, failed := time.Now(), 0, 0
				err := policy(&failed).Do(t.Context(), func(context.Context) error {
					if tries++; tries == 5 {
						return tt.last
					}
					return errors.New("down")
				})
				if !errors.Is(err, tt.last) || time.Since(began) != tt.took || failed != 4 {
					t.Errorf("%v after %v, told of %d failures", err, time.Since(began), failed)
				}
			})
		})
	}
}

// A waiting caller stops at once when its context ends, and gets the last error.
func TestDoIsStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
		defer cancel()
		down, failed := errors.New("down"), 0
		began := time.Now()
		err := policy(&failed).Do(ctx, func(context.Context) error { return down })
		if !errors.Is(err, down) || time.Since(began) != 1500*time.Millisecond || failed != 2 {
			t.Errorf("%v after %v, %d failures", err, time.Since(began), failed)
		}
		if err := Sleep(ctx, time.Hour); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Sleep: %v", err)
		}
	})
}
