package token

// Outcome is what became of a token. Its text is a metric label.
type Outcome uint8

// The outcomes.
const (
	Good           Outcome = iota
	TooLarge               // longer than abi.MaxToken
	Malformed              // no compact JWS over a JSON mapping with claims of the right types
	WrongAlgorithm         // signed by none, or by an algorithm that the verifier does not allow
	Critical               // has critical header parameters, none of which is understood
	UnknownKey             // no key, or more than one, has its id and fits its algorithm
	WrongSignature         // not signed with the key
	WrongIssuer            // iss is missing or another one
	WrongAudience          // aud is missing, or the audience is not among it
	Expired                // exp is over
	Early                  // nbf is not reached
)

var outcomeNames = [...]string{
	"good", "too_large", "malformed", "algorithm", "critical", "key", "signature", "issuer", "audience", "expired", "early",
}

func (o Outcome) String() string { return outcomeNames[o] }

// Outcomes returns all there are.
func Outcomes() []Outcome {
	all := make([]Outcome, len(outcomeNames))
	for i := range all {
		all[i] = Outcome(i)
	}
	return all
}
