/* IMPORTANT
 * This snapshot file is auto-generated, but designed for humans.
 * It should be checked into source control and tracked carefully.
 * Re-generate by setting TAP_SNAPSHOT=1 and running tests.
 * Make sure to inspect the output below.  Do not ignore changes!
 */
'use strict'
exports[`dist/test/machines/versions.test.js > TAP > a change in how a demand’s value is made needs a new version, or old index rows would be left behind > demand 0 1`] = `
run_request version 8: b57196b457cad06b81d39f60b2e1e200
`

exports[`dist/test/machines/versions.test.js > TAP > a change in how a demand’s value is made needs a new version, or old index rows would be left behind > demand 1 1`] = `
run_request version 8: 656fc4ef05a6d56a3230baef066df8fc
`

exports[`dist/test/machines/versions.test.js > TAP > a change in how a demand’s value is made needs a new version, or old index rows would be left behind > demand 2 1`] = `
run_request version 8: 5736f5cb563e43212851238b1da61363
`

exports[`dist/test/machines/versions.test.js > TAP > a change in how a demand’s value is made needs a new version, or old index rows would be left behind > demand 3 1`] = `
run_request version 8: not_ready
`

exports[`dist/test/machines/versions.test.js > TAP > a machine whose structure changes has a new version > agent_session 1`] = `
agent_session version 1: 1888aa24cedb84dc
`

exports[`dist/test/machines/versions.test.js > TAP > a machine whose structure changes has a new version > campaign 1`] = `
campaign version 9: 3490b90eb88b94ae
`

exports[`dist/test/machines/versions.test.js > TAP > a machine whose structure changes has a new version > compiled_brief 1`] = `
compiled_brief version 1: b689cb5b86d27151
`

exports[`dist/test/machines/versions.test.js > TAP > a machine whose structure changes has a new version > discovery 1`] = `
discovery version 1: 78e5447e40e29114
`

exports[`dist/test/machines/versions.test.js > TAP > a machine whose structure changes has a new version > engine_capability 1`] = `
engine_capability version 2: 21c08ff1481276b6
`

exports[`dist/test/machines/versions.test.js > TAP > a machine whose structure changes has a new version > engine_run 1`] = `
engine_run version 2: 0949d360463ac66b
`

exports[`dist/test/machines/versions.test.js > TAP > a machine whose structure changes has a new version > formation_brief 1`] = `
formation_brief version 6: 5ce9369b927b2ecf
`

exports[`dist/test/machines/versions.test.js > TAP > a machine whose structure changes has a new version > hypothesis 1`] = `
hypothesis version 1: 1212073db329c101
`

exports[`dist/test/machines/versions.test.js > TAP > a machine whose structure changes has a new version > initiative 1`] = `
initiative version 7: f0f4b55e18230f11
`

exports[`dist/test/machines/versions.test.js > TAP > a machine whose structure changes has a new version > intent_record 1`] = `
intent_record version 4: e62778c5a0fc9ac7
`

exports[`dist/test/machines/versions.test.js > TAP > a machine whose structure changes has a new version > maintenance_run 1`] = `
maintenance_run version 1: c73364b35abc8fb5
`

exports[`dist/test/machines/versions.test.js > TAP > a machine whose structure changes has a new version > pacing 1`] = `
pacing version 3: fd1bba5f814b5247
`

exports[`dist/test/machines/versions.test.js > TAP > a machine whose structure changes has a new version > project 1`] = `
project version 2: 9339858c2e28e717
`

exports[`dist/test/machines/versions.test.js > TAP > a machine whose structure changes has a new version > run_request 1`] = `
run_request version 8: b775d6d60336b963
`

exports[`dist/test/machines/versions.test.js > TAP > a machine whose structure changes has a new version > runner 1`] = `
runner version 6: 86307a65c34ae216
`

exports[`dist/test/machines/versions.test.js > TAP > a machine whose structure changes has a new version > sentinel 1`] = `
sentinel version 3: 5d53d1b17c5cde1d
`

exports[`dist/test/machines/versions.test.js > TAP > a machine whose structure changes has a new version > token 1`] = `
token version 1: ee2e0eaf2e678862
`

exports[`dist/test/machines/versions.test.js > TAP > a machine whose structure changes has a new version > usage 1`] = `
usage version 1: ade9d9d000420a4b
`

exports[`dist/test/machines/versions.test.js > TAP > a machine whose structure changes has a new version > work_item 1`] = `
work_item version 13: 08b06652c75767b0
`
