package chat_test

import (
	"testing"

	"nod/chat"
)

func TestMoney(t *testing.T) {
	for amount, want := range map[float64]string{
		0: "$0.00", 0.0000001: "$0.00", 0.000418: "$0.000418", 0.5: "$0.50", 0.125: "$0.125", 1: "$1.00", 12.345: "$12.35", 1e6: "$1000000.00",
	} {
		if got := chat.Money(amount); got != want {
			t.Errorf("%v: %s, want %s", amount, got, want)
		}
	}
}
