package wasmtests

import (
	"cmp"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// clauseTests are the tests by the number of the clause that they hold a host to.
var clauseTests = map[string][]func(t *testing.T){}

// clause registers a test for one clause, or for several, separated by spaces.
func clause(ids string, test func(t *testing.T)) bool {
	for id := range strings.FieldsSeq(ids) {
		clauseTests[id] = append(clauseTests[id], test)
		test = func(t *testing.T) { t.Log("tested with " + ids) }
	}
	return true
}

var clauseNumber = regexp.MustCompile(`(?m)^- \*\*([A-Z]+-[0-9]+)\*\* `)

func clausesOfContract(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile("../abi/README.md")
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, m := range clauseNumber.FindAllSubmatch(text, -1) {
		ids = append(ids, string(m[1]))
	}
	if len(ids) < 100 {
		t.Fatalf("only %d clauses found in the contract", len(ids))
	}
	return ids
}

func TestEveryClauseHasATest(t *testing.T) {
	clauses := clausesOfContract(t)
	for _, id := range clauses {
		if clauseTests[id] == nil {
			t.Errorf("%s has no test", id)
		}
	}
	for id := range clauseTests {
		if !slices.Contains(clauses, id) {
			t.Errorf("a test names %s, which is not in the contract", id)
		}
	}
	seen := map[string]bool{}
	for _, id := range clauses {
		if seen[id] {
			t.Errorf("%s stands twice in the contract", id)
		}
		seen[id] = true
	}
}

func TestContract(t *testing.T) {
	var ids []string
	for id := range clauseTests {
		ids = append(ids, id)
	}
	slices.SortFunc(ids, func(a, b string) int {
		groupA, numberA, _ := strings.Cut(a, "-")
		groupB, numberB, _ := strings.Cut(b, "-")
		nA, _ := strconv.Atoi(numberA)
		nB, _ := strconv.Atoi(numberB)
		return cmp.Or(cmp.Compare(groupA, groupB), cmp.Compare(nA, nB))
	})
	for _, id := range ids {
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			for _, test := range clauseTests[id] {
				test(t)
			}
		})
	}
}
