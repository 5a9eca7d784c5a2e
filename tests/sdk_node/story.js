// One merchant's story with the official Stripe SDK for Node, unmodified, against the running
// service. Prints a line per step; the first thing that is not as it should be ends it with 1.
//
// Environment: SERVICE_URL STRICT_URL SECRET_KEY READ_ONLY_KEY, and in SIGNATURES the path of
// docs/webhook-signatures.json

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import Stripe from "stripe";

const { SERVICE_URL, STRICT_URL, SECRET_KEY, READ_ONLY_KEY, SIGNATURES } = process.env;

function client(url, key, options = {}) {
  const { hostname: host, port, protocol } = new URL(url);
  return new Stripe(key, { host, port, protocol: protocol.slice(0, -1), ...options });
}

async function refused(call, type) {
  try {
    await call();
  } catch (error) {
    assert.ok(error instanceof type, `${error.constructor.name}: ${error.message}`);
    return error;
  }
  throw new Error(`not refused with ${type.name}`);
}

async function all(pages) {
  const found = [];
  for await (const object of pages) found.push(object);
  return found;
}

const stripe = client(SERVICE_URL, SECRET_KEY);
const errors = Stripe.errors;

const card = (number) => ({
  payment_method_data: {
    type: "card",
    card: { number, exp_month: 12, exp_year: 2040, cvc: "123" },
    billing_details: {
      name: "Ayşe Yılmaz",
      email: "ayse@example.com",
      address: { line1: "İstiklal Cd. 1", city: "İstanbul", country: "TR" },
    },
  },
});
const GOOD = card("4242424242424242");
const DECLINED = card("4000000000000002");
const MONEY = { amount: 12500, currency: "try" };

const steps = {
  async "a payment in one call"() {
    const metadata = { order: "6735", gift: "true", 0: "first" };
    const paid = await stripe.paymentIntents.create({
      ...MONEY,
      ...GOOD,
      confirm: true,
      description: "12345",
      metadata,
      line_items: [
        { name: "Tea glass", unit_amount: 6000, quantity: 2 },
        { name: "Spoon", unit_amount: 500 },
      ],
    });
    assert.equal(paid.status, "succeeded");
    assert.equal(paid.description, "12345");
    assert.deepEqual(paid.metadata, metadata);
    assert.equal(paid.line_items.length, 2);
  },

  async "create, update, confirm, capture, retrieve"() {
    const made = await stripe.paymentIntents.create({
      ...MONEY,
      capture_method: "manual",
      metadata: { a: "1", b: "2" },
    });
    const changed = await stripe.paymentIntents.update(made.id, {
      amount: 6000,
      description: "tea",
      metadata: { a: "" },
    });
    const held = await stripe.paymentIntents.confirm(made.id, GOOD);
    const taken = await stripe.paymentIntents.capture(made.id, { amount_to_capture: 2500 });
    const read = await stripe.paymentIntents.retrieve(made.id);
    assert.equal(changed.description, "tea");
    assert.deepEqual(changed.metadata, { b: "2" });
    assert.equal(held.status, "requires_capture");
    assert.equal(taken.amount_received, 2500);
    assert.deepEqual(read, taken);
  },

  async "cancel"() {
    const made = await stripe.paymentIntents.create(MONEY);
    const gone = await stripe.paymentIntents.cancel(made.id, { cancellation_reason: "duplicate" });
    assert.equal(gone.status, "canceled");
    assert.equal(gone.cancellation_reason, "duplicate");
  },

  async "a decline is an answer"() {
    const declined = await stripe.paymentIntents.create({ ...MONEY, ...DECLINED, confirm: true });
    assert.equal(declined.status, "requires_payment_method");
    assert.equal(declined.last_payment_error.decline_code, "generic_decline");
  },

  async "customers and expansion"() {
    const customer = await stripe.customers.create({ name: "Ayşe", email: "ayse@example.com" });
    const made = await stripe.paymentIntents.create({
      ...MONEY,
      customer: customer.id,
      expand: ["customer"],
    });
    const read = await stripe.paymentIntents.retrieve(made.id, { expand: ["customer"] });
    assert.deepEqual(made.customer, await stripe.customers.retrieve(customer.id));
    assert.deepEqual(read.customer, made.customer);
  },

  async "events, listed, paged and read"() {
    const made = [];
    for (const n of [1, 2, 3]) made.push((await stripe.customers.create({ name: `${n}` })).id);
    const newest = await stripe.events.list({ limit: 2 });
    const found = await all(stripe.events.list({ limit: 2 }));
    const told = found.map((event) => event.data.object.id).filter((id) => made.includes(id));
    assert.deepEqual(await stripe.events.retrieve(newest.data[0].id), newest.data[0]);
    assert.deepEqual(told, made.reverse());
  },

  async "payments, paged both ways"() {
    const amount = 779;
    const made = [];
    for (const _ of [1, 2, 3, 4, 5]) {
      made.unshift((await stripe.paymentIntents.create({ ...MONEY, amount })).id);
      await stripe.paymentIntents.create(MONEY);
    }
    const ids = async (pages) => (await all(pages)).map((payment) => payment.id);
    const list = (more) => stripe.paymentIntents.list({ limit: 2, amount, ...more });
    assert.deepEqual(await ids(list({})), made);
    assert.deepEqual(await ids(list({ ending_before: made[4] })), made.slice(0, 4).reverse());
  },

  async "a list, filtered, sorted and counted"() {
    const found = await stripe.paymentIntents.list({
      created: { gte: 1 },
      amount: { gte: 779, lt: 780 },
      status: ["requires_payment_method", "canceled"],
      sort: "created",
      include: ["total_count"],
    });
    assert.equal(found.data.length, 5);
    assert.equal(found.total_count, 5);
  },

  async "webhook endpoints"() {
    const made = await stripe.webhookEndpoints.create({
      url: "https://acme.example/hooks",
      enabled_events: ["payment_intent.succeeded", "payment_intent.canceled"],
    });
    const changed = await stripe.webhookEndpoints.update(made.id, {
      enabled_events: ["*"],
      disabled: true,
    });
    const listed = await stripe.webhookEndpoints.list({ limit: 1 });
    const gone = await stripe.webhookEndpoints.del(made.id);
    assert.match(made.secret, /^whsec_/);
    assert.equal(made.enabled_events.length, 2);
    assert.deepEqual([changed.status, changed.enabled_events], ["disabled", ["*"]]);
    assert.deepEqual(listed.data[0], changed);
    assert.equal(gone.deleted, true);
  },

  async "webhook signatures"() {
    const { secret, body, now, headers } = JSON.parse(await readFile(SIGNATURES));
    const isTaken = (header) => {
      try {
        return stripe.webhooks.constructEvent(body, header, secret, 300, undefined, now * 1000);
      } catch {
        return false;
      }
    };
    const others = headers.filter((vector) => Boolean(isTaken(vector.header)) !== vector.is_genuine);
    // Of those that we refuse, the SDK takes the one from the future.
    assert.deepEqual(others.map(({ what }) => what), ["301 seconds ahead"]);
  },

  async "an invalid request"() {
    const zero = { ...MONEY, amount: 0 };
    const error = await refused(
      () => stripe.paymentIntents.create(zero),
      errors.StripeInvalidRequestError,
    );
    assert.deepEqual([error.statusCode, error.code], [400, "amount_too_small"]);
    assert.equal(error.param, "amount");
    assert.match(error.requestId, /^req_/);
    const missing = await refused(
      () => stripe.paymentIntents.retrieve("pi_nobody"),
      errors.StripeInvalidRequestError,
    );
    assert.deepEqual([missing.statusCode, missing.code], [404, "resource_missing"]);
  },

  async "a wrong key"() {
    const stranger = client(SERVICE_URL, "sk_sandbox_nobody");
    const error = await refused(
      () => stranger.events.list(),
      errors.StripeAuthenticationError,
    );
    assert.equal(error.code, "api_key_invalid");
  },

  async "a key that may only read"() {
    const reader = client(SERVICE_URL, READ_ONLY_KEY);
    const error = await refused(
      () => reader.customers.create({ name: "Ada" }),
      errors.StripePermissionError,
    );
    assert.equal(error.code, "permission_denied");
  },

  async "too many requests"() {
    const hasty = client(STRICT_URL, SECRET_KEY, { maxNetworkRetries: 0 });
    const often = () => Promise.all([1, 2, 3, 4].map(() => hasty.events.list({ limit: 1 })));
    const error = await refused(often, errors.StripeRateLimitError);
    assert.equal(error.code, "rate_limit");
  },

  async "idempotency"() {
    const idempotencyKey = "node order 6735";
    const first = await stripe.customers.create({ name: "Ada" }, { idempotencyKey });
    const again = await stripe.customers.create({ name: "Ada" }, { idempotencyKey });
    assert.equal(again.id, first.id);
    assert.equal(again.lastResponse.headers["original-request"], first.lastResponse.requestId);
    const error = await refused(
      () => stripe.customers.create({ name: "Grace" }, { idempotencyKey }),
      errors.StripeIdempotencyError,
    );
    assert.equal(error.code, "idempotency_key_reused");
  },

  async "headers"() {
    const made = await stripe.customers.create({ name: "Ada" }, { apiVersion: "2024-06-20" });
    assert.match(made.lastResponse.requestId, /^req_/);
    assert.equal(made.lastResponse.headers["pf-version"], "2026-11-01");
  },
};

for (const [name, step] of Object.entries(steps)) {
  await step();
  console.log(`ok ${name}`);
}
console.log(`${Object.keys(steps).length} steps`);
